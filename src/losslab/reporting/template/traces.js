// How a figure looks for the losses that are chosen. A trace of a loss says so in its meta, a figure
// whose rows are losses lists them in its layout's meta; one that needs a height says it there.
const MOST_TICKS = 15; // names that a phone has room for
const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);
function colour(name) { probe.style.color = `var(${name})`; return getComputedStyle(probe).color; }

function tracesFor(figure) {
  const others = [], chosen = [], members = memberColours(figure);
  for (const trace of figure.data) {
    const loss = trace.meta && trace.meta.loss;
    if (!loss) { chosen.push(ofShownRows(trace, figure)); continue; }
    if (choice.losses.includes(loss)) chosen.push(inColour(trace, loss, colourName(loss)));
    else if (members.has(loss)) chosen.push(inColour(trace, loss, members.get(loss)));
    else if (!choice.alone && !trace.meta.role) others.push(inGrey(trace));
  }
  return [...others, ...chosen];
}

// Of a map whose rows are losses: those that are shown. Left out of sight alone, they would still count for its colours.
function ofShownRows(trace, figure) {
  const { rows } = figure.layout.meta || {};
  if (trace.type !== "heatmap" || !rows) return trace;
  const shown = shownRows(rows), places = shown.map(loss => trace.y.indexOf(loss)), pick = values => places.map(place => values[place]);
  return { ...trace, y: shown, z: pick(trace.z), text: pick(trace.text), customdata: pick(trace.customdata) };
}

function shownRows(rows) { return choice.alone && choice.losses.length ? rows.filter(loss => choice.losses.includes(loss)) : rows; }

// A figure of few losses, its members, has them in colour even if they are not chosen: in colours that are free.
function memberColours(figure) {
  const members = figure.data.filter(trace => trace.meta && trace.meta.role === "member").map(trace => trace.meta.loss);
  if (!members.length) return new Map(); // pages without a choice of losses have no colours for them
  const others = [...new Set(members)].filter(loss => !choice.losses.includes(loss)), taken = choice.losses.map(colourName);
  const all = Array.from({ length: COLOURS }, (_, slot) => `--c${slot + 1}`), free = all.filter(name => !taken.includes(name));
  return new Map(others.map((loss, place) => [loss, [...free, ...all][place % all.length]]));
}

function inColour(trace, loss, name) {
  const own = colour(name), line = { ...trace.line, color: own };
  if (trace.meta.role === "band") return { ...trace, line, fillcolor: own, opacity: .14 };
  if (!trace.line || !trace.line.dash) line.dash = dashOf(loss);
  return { ...trace, visible: true, legendrank: 1000 + data.losses.indexOf(loss), line: { ...line, width: 2.2 }, marker: { ...trace.marker, color: own } };
}

function inGrey(trace) {
  const grey = colour("--mute");
  return { ...trace, line: { ...trace.line, color: grey, width: 1 }, mode: "lines", opacity: .45, hoverinfo: "skip", hovertemplate: null, showlegend: false };
}

function layoutFor(figure, narrow) {
  const [ink, faint, line] = ["--ink", "--faint", "--line"].map(colour), given = figure.layout;
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true, tickcolor: line };
  const layout = {
    ...given, title: undefined, height: undefined, autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: faint, size: narrow ? 11 : 12, family: "system-ui, sans-serif" }, margin: { l: 48, r: 12, t: 12, b: 44 },
    legend: { orientation: "h", y: 1.02, x: 0, yanchor: "bottom", font: { color: ink }, itemclick: false, itemdoubleclick: false },
    hoverlabel: { bgcolor: colour("--surface"), bordercolor: line, font: { color: ink } }, hovermode: "closest", dragmode: false,
    modebar: { bgcolor: "rgba(0,0,0,0)", color: faint, activecolor: ink },
  };
  for (const name of ["xaxis", "yaxis", ...Object.keys(given).filter(key => /^[xy]axis\d/.test(key))]) {
    layout[name] = { ...given[name], ...axis };
    // a touch tells the name
    if (narrow && layout[name].side === "top") layout[name].tickangle = -90; // side by side, they would collide
    if (narrow && layout[name].ticktext && layout[name].ticktext.length > MOST_TICKS) layout[name].showticklabels = false;
  }
  if (given.meta && given.meta.rows) byRows(layout, given.meta.rows);
  if (given.meta && given.meta.height && !narrow) layout.height = given.meta.height;
  return layout;
}

// The chosen losses' names are set in bold; where the others are hidden, the axis ends with the chosen.
function byRows(layout, rows) {
  const shown = shownRows(rows);
  const rest = rows.filter(loss => !shown.includes(loss));
  layout.yaxis = {
    ...layout.yaxis, categoryarray: [...shown, ...rest], range: [shown.length - .5, -.5], tickvals: shown, dtick: undefined,
    ticktext: shown.map(loss => choice.losses.includes(loss) ? `<b style="color:${colour(colourName(loss))}">${loss}</b>` : loss),
  };
  layout.height = 120 + 22 * shown.length;
  layout.margin = { ...layout.margin, t: 36 };
}

function lacking(figure) {
  const there = new Set(figure.data.map(trace => trace.meta && trace.meta.role !== "member" && trace.meta.loss).filter(Boolean));
  return there.size ? choice.losses.filter(loss => !there.has(loss)) : [];
}
