// Sorting, filtering and columns of the comparison.
const table = document.getElementById("losses");
const body = table.tBodies[0];

function sortBy(button) {
  const head = button.closest("th"), key = button.dataset.sort, now = head.getAttribute("aria-sort");
  const first = key === "loss" || head.dataset.lower === "1" ? "ascending" : "descending"; // the best on top
  const order = now === "none" ? first : now === "ascending" ? "descending" : "ascending";
  for (const other of table.querySelectorAll("thead th")) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", order);
  const value = row => key === "loss" ? row.dataset.loss : row.querySelector(`td[data-column="${key}"]`).dataset.value;
  const compare = (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === "" || y === "") return (x === "") - (y === ""); // what is unknown goes last, either way
    return (order === "ascending" ? 1 : -1) * (key === "loss" ? x.localeCompare(y) : x - y);
  };
  body.append(...[...body.rows].sort(compare));
}

function filterRows() {
  const words = document.getElementById("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const family = document.getElementById("family").value;
  let shown = 0;
  for (const row of body.rows) {
    const fits = words.every(word => row.dataset.words.includes(word)) && (!family || row.dataset.family === family);
    row.hidden = !fits;
    shown += fits;
  }
  document.getElementById("count").textContent = `${shown} of ${body.rows.length} losses`;
  document.getElementById("empty").hidden = shown > 0;
}

document.getElementById("intervals").addEventListener("change", event => table.classList.toggle("intervals", event.target.checked));
for (const button of table.querySelectorAll(".sort")) button.addEventListener("click", () => sortBy(button));
for (const id of ["find", "family"]) document.getElementById(id).addEventListener("input", filterRows);
for (const box of document.querySelectorAll(".columns input")) {
  box.addEventListener("change", () => {
    for (const cell of table.querySelectorAll(`[data-column="${box.dataset.column}"]`)) cell.hidden = !box.checked;
  });
}
document.getElementById("clear").addEventListener("click", () => {
  document.getElementById("find").value = document.getElementById("family").value = "";
  filterRows();
});
filterRows();

// A table that is wider than the screen says so, and fades where it goes on.
function showOverflow(part) {
  const more = part.scrollWidth - part.clientWidth - part.scrollLeft > 2;
  part.classList.toggle("more", more);
  part.nextElementSibling.hidden = !more;
}
const sizes = new ResizeObserver(entries => entries.forEach(entry => showOverflow(entry.target.closest(".scroll"))));
for (const part of document.querySelectorAll(".scroll")) {
  const hint = document.createElement("p");
  hint.className = "sideways";
  hint.textContent = "Scroll sideways for more →";
  part.after(hint);
  sizes.observe(part);
  sizes.observe(part.querySelector("table"));
  part.addEventListener("scroll", () => showOverflow(part), { passive: true });
}
for (const link of document.querySelectorAll("[data-close]")) link.addEventListener("click", () => link.closest("[popover]").hidePopover());
