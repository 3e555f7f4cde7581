// The comparison as a file: the rows and columns that are shown, in the order they are shown in.
const ESCAPES = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" };

function shownTable() {
  const heads = [...table.tHead.rows[0].cells].filter(cell => !cell.hidden);
  const rows = [...body.rows].filter(row => !row.hidden).map(row => [...row.cells].filter(cell => !cell.hidden));
  return { heads: heads.map(cell => cell.querySelector(".sort").textContent), rows };
}

function nameOf(cell) { return cell.closest("tr").dataset.loss; }
function spreadOf(cell) { return (cell.querySelector("small:not(.details)") || { textContent: "" }).textContent.replace("±", "").trim(); }

function wording(cell) {
  if (cell.tagName === "TH") return nameOf(cell);
  const spread = spreadOf(cell), value = cell.querySelector(".text").textContent;
  return spread ? `${value} ± ${spread}` : value;
}

// Numbers as they are, with the standard deviation in a column of its own where there is one.
function asCsv({ heads, rows }) {
  const spread = heads.map((_, place) => place > 0 && rows.some(row => spreadOf(row[place])));
  const both = (place, first, second) => spread[place] ? [first, second] : [first];
  const text = cell => cell.tagName === "TH" ? nameOf(cell) : cell.dataset.value || cell.querySelector(".text").textContent;
  const lines = [heads.flatMap((head, place) => both(place, head, `${head} std`))];
  for (const row of rows) lines.push(row.flatMap((cell, place) => both(place, text(cell), spreadOf(cell))));
  const quoted = word => /[",\n]/.test(word) ? `"${word.replaceAll('"', '""')}"` : /^[=+@]/.test(word) ? `'${word}` : word;
  return lines.map(line => line.map(quoted).join(",") + "\n").join("");
}

function asMarkdown({ heads, rows }) {
  const line = words => `| ${words.map(word => word.replaceAll("|", "\\|")).join(" | ")} |\n`;
  const strong = cell => cell.classList.contains("best") ? `**${wording(cell)}**` : wording(cell);
  return line(heads) + line(heads.map((_, place) => place ? "---:" : "---")) + rows.map(row => line(row.map(strong))).join("");
}

function asLatex({ heads, rows }) {
  const plain = word => word.replace(/[\\~^]|[&%$#_{}]/g, sign => ESCAPES[sign] || `\\${sign}`).replaceAll("±", "$\\pm$");
  const strong = cell => cell.classList.contains("best") ? `\\textbf{${plain(wording(cell))}}` : plain(wording(cell));
  const line = words => `  ${words.join(" & ")} \\\\\n`;
  return `% needs \\usepackage{booktabs}\n\\begin{tabular}{l${"r".repeat(heads.length - 1)}}\n  \\toprule\n${line(heads.map(plain))}  \\midrule\n`
    + `${rows.map(row => line(row.map(strong))).join("")}  \\bottomrule\n\\end{tabular}\n`;
}

const FORMATS = { csv: asCsv, md: asMarkdown, tex: asLatex };
for (const button of document.querySelectorAll("[data-export]")) {
  button.addEventListener("click", () => {
    const ending = button.dataset.export, link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([FORMATS[ending](shownTable())], { type: "text/plain" }));
    link.download = `${data.table}.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    button.closest("details").open = false;
  });
}
