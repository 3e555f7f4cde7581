// The mistakes of one loss, which the reader chooses.
function fillRows(id, rows) {
  document.getElementById(id).replaceChildren(...rows.map(cells => {
    const row = document.createElement("tr");
    row.append(...cells.map((text, place) => {
      const cell = document.createElement(place ? "td" : "th");
      if (!place) { cell.scope = "row"; cell.className = "name"; }
      else if (Number.isNaN(Number(text))) cell.className = "words";
      cell.textContent = text;
      return cell;
    }));
    return row;
  }));
}

function showErrors(loss) {
  const own = data.errors[loss], number = value => Number(value).toLocaleString("en", { maximumFractionDigits: 1 });
  fillRows("pairs", own.pairs.map(pair => [pair.missed, pair.predicted, number(pair.documents)]));
  fillRows("bands", own.bands.map(band => [band.labels, number(band.documents), band.micro_f1.toFixed(3), band.macro_f1.toFixed(3)]));
}

const mistaken = document.getElementById("errors-loss");
if (mistaken) {
  mistaken.replaceChildren(...data.losses.filter(loss => loss in data.errors).map(loss => new Option(loss, loss)));
  mistaken.addEventListener("change", () => showErrors(mistaken.value));
  showErrors(mistaken.value);
}
