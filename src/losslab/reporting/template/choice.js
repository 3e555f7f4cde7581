// The selected losses: ticked in the table, listed as chips, coloured in the plots.
const data = JSON.parse(document.getElementById("data").textContent);
const COLOURS = 7;
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];
const choice = { losses: [], alone: false };
const slots = new Map(); // a loss keeps its colour as long as it is chosen

function choose(losses) {
  choice.losses = data.losses.filter(loss => losses.includes(loss));
  for (const loss of slots.keys()) if (!choice.losses.includes(loss)) slots.delete(loss);
  for (const loss of choice.losses) {
    if (loss === data.reference || slots.has(loss)) continue;
    const taken = new Set(slots.values());
    let slot = 0;
    while (taken.has(slot)) slot++;
    slots.set(loss, slot);
  }
  showChoice();
  dispatchEvent(new Event("choicechange"));
}

function colourName(loss) { return loss === data.reference ? "--reference" : `--c${slots.get(loss) % COLOURS + 1}`; }
function dashOf(loss) { return loss === data.reference ? "solid" : DASHES[Math.floor(slots.get(loss) / COLOURS) % DASHES.length]; }

function showChoice() {
  const chips = document.getElementById("chips");
  chips.replaceChildren(...choice.losses.map(chip));
  for (const box of document.querySelectorAll(".choose")) {
    box.checked = choice.losses.includes(box.value);
    box.parentElement.querySelector(".swatch").style.background = box.checked ? `var(${colourName(box.value)})` : "";
  }
  const add = document.getElementById("add");
  const others = data.losses.filter(loss => !choice.losses.includes(loss)).sort();
  add.replaceChildren(add.options[0], ...others.map(loss => new Option(loss, loss)));
  add.value = "";
}

function chip(loss) {
  const item = document.createElement("li"), button = document.createElement("button"), line = document.createElement("span");
  button.type = "button";
  button.setAttribute("aria-label", `Remove ${loss}`);
  line.className = "line";
  line.style.borderTopColor = `var(${colourName(loss)})`;
  line.style.borderTopStyle = { solid: "solid", dot: "dotted" }[dashOf(loss)] || "dashed";
  button.append(line, loss);
  button.addEventListener("click", () => choose(choice.losses.filter(other => other !== loss)));
  item.append(button);
  return item;
}

for (const box of document.querySelectorAll(".choose")) {
  box.addEventListener("change", () =>
    choose(box.checked ? [...choice.losses, box.value] : choice.losses.filter(loss => loss !== box.value)));
}
for (const button of document.querySelectorAll("[data-choose]")) {
  const sets = { first: data.atFirst, all: data.losses, none: [] };
  button.addEventListener("click", () => choose(sets[button.dataset.choose]));
}
document.getElementById("add").addEventListener("change", event => choose([...choice.losses, event.target.value]));
document.getElementById("alone").addEventListener("change", event => {
  choice.alone = event.target.checked;
  dispatchEvent(new Event("choicechange"));
});
