// Drawing: each figure when it comes near the screen, again when the choice or the colours change.
const drawn = new Set();
const MOST_NAMED = 12; // entries of a legend; of more losses the chips alone tell the colours
const PNG_SCALE = 3; // pixels of a downloaded picture per pixel of the screen: enough for print
const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: [["toImage"]] };
const narrow = matchMedia("(max-width: 44rem)");

function draw(name) {
  const figure = figureOf(name);
  const element = document.getElementById(name), layout = layoutFor(figure, narrow.matches);
  element.style.height = layout.height ? `${layout.height}px` : "";
  const traces = tracesFor(figure).map(inTheme);
  const named = traces.filter(trace => trace.name && trace.showlegend !== false);
  layout.showlegend = named.length > 0 && named.length <= MOST_NAMED;
  Plotly.react(element, traces, layout, { ...CONFIG, toImageButtonOptions: { format: "png", scale: PNG_SCALE, filename: name } });
  const missing = document.getElementById(`missing-${name}`), names = lacking(figure);
  missing.hidden = !names.length;
  missing.textContent = names.length ? `Not shown: ${names.join(", ")}, ${missing.dataset.why}.` : "";
  drawn.add(name);
}

function figureOf(name) {
  const figure = data.figures[name], one = document.getElementById(`one-${name}`);
  if (name === "label_scatter") return scatter(figure);
  return one ? onlyOf(figure, one.value) : figure;
}

// Of a figure that shows one loss at a time: its traces, in colours of their own.
function onlyOf(figure, loss) {
  const own = figure.data.filter(trace => trace.meta.loss === loss).map(trace => ({ ...trace, meta: undefined, visible: true }));
  return { ...figure, data: own };
}

function setUpOneLoss(select) {
  const name = select.dataset.one, there = new Set(data.figures[name].data.map(trace => trace.meta.loss));
  const losses = data.losses.filter(loss => there.has(loss));
  select.replaceChildren(...[...losses].sort().map(loss => new Option(loss, loss)));
  select.value = there.has(data.reference) ? data.reference : losses[0];
  select.addEventListener("change", () => draw(name));
}

// A map's lowest value is the colour of the card in either theme.
function inTheme(trace) {
  if (trace.type !== "heatmap") return trace;
  return { ...trace, colorscale: [[0, colour("--surface")], [1, colour("--c1")]] };
}

function scatter(figure) {
  const [x, y] = ["scatter-x", "scatter-y"].map(id => document.getElementById(id).value), labels = data.labels;
  const traces = Object.entries(data.groups).map(([group], place) => {
    const rows = labels.group.flatMap((own, row) => own === group ? [row] : []), pick = column => rows.map(row => labels[column][row]);
    return { ...figure.data[place], x: pick(x), y: pick(y), text: pick("label"), customdata: pick("train") };
  });
  const titled = (axis, loss) => ({ ...axis, title: { text: `F1 with ${loss}` } });
  return { data: traces, layout: { ...figure.layout, xaxis: titled(figure.layout.xaxis, x), yaxis: titled(figure.layout.yaxis, y) } };
}

function setUpScatter() {
  const start = { "scatter-x": data.reference || data.losses[1] || data.losses[0], "scatter-y": data.losses.find(loss => loss !== data.reference) || data.losses[0] };
  for (const [id, loss] of Object.entries(start)) {
    const select = document.getElementById(id);
    select.replaceChildren(...[...data.losses].sort().map(name => new Option(name, name)));
    select.value = loss;
    select.addEventListener("change", () => draw("label_scatter"));
  }
}

let waiting = false;
function drawAgain() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; drawn.forEach(draw); });
}

setUpScatter();
document.querySelectorAll("[data-one]").forEach(setUpOneLoss);
choose(data.atFirst);
const near = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) { near.unobserve(entry.target); draw(entry.target.id); }
}, { rootMargin: "600px" });
for (const name of Object.keys(data.figures)) {
  const element = document.getElementById(name), { height } = data.figures[name].layout.meta || {};
  if (!element) continue;
  if (height && !narrow.matches) element.style.height = `${height}px`; // nothing moves when it is drawn
  near.observe(element);
}
for (const event of ["choicechange", "themechange"]) addEventListener(event, drawAgain);
narrow.addEventListener("change", drawAgain);
addEventListener("beforeprint", () => Object.keys(data.figures).forEach(draw));

const copy = document.getElementById("copy");
if (copy) copy.addEventListener("click", async () => {
  await navigator.clipboard.writeText(document.getElementById("command").textContent);
  copy.textContent = "Copied";
});
// Links are written for latest.html. A version lies two folders below it; a copy elsewhere has nothing beside it.
const depth = /\/report\.html\/[^/]+\/report\.html$/.test(location.pathname) ? "../../" : "";
for (const part of document.querySelectorAll("[data-beside]")) {
  part.hidden = !depth && !location.pathname.endsWith("/latest.html");
  for (const link of part.querySelectorAll("a")) link.setAttribute("href", depth + link.getAttribute("href"));
}
