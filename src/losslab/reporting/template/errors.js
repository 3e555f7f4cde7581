// The error analysis of the selected loss.
function fillRows(id, rows) {
  if (!rows.length) rows = [["none"]];
  document.getElementById(id).replaceChildren(...rows.map(cells => {
    const row = document.createElement("tr");
    row.append(...cells.map((text, column) => {
      const cell = document.createElement(column ? "td" : "th");
      if (!column) { cell.scope = "row"; cell.className = "name"; }
      else if (/^(pairs|within)$/.test(id) && column === 1) cell.className = "words";
      cell.textContent = text;
      return cell;
    }));
    return row;
  }));
}

function showErrors(loss) {
  const own = data.errors[loss], number = value => Number(value).toLocaleString("en", { maximumFractionDigits: 1 });
  const pairCells = pair => [pair.missed, pair.predicted, number(pair.documents)], scores = part => [part.micro_f1.toFixed(3), part.macro_f1.toFixed(3)];
  const span = part => part.least_frequent === part.most_frequent ? `${part.most_frequent}` : `${part.most_frequent} to ${part.least_frequent}`;
  fillRows("pairs", own.pairs.map(pairCells));
  fillRows("within", own.within.map(pairCells));
  fillRows("bands", own.bands.map(band => [band.labels, number(band.documents), ...scores(band)]));
  fillRows("deciles", own.deciles.map(part => [part.decile, number(part.labels), span(part), ...scores(part)]));
  document.getElementById("confusions").textContent =
    `${loss}: ${number(own.confusions)} confusions, ${number(own.confusionsWithin)} of them between similar labels.`;
}

const errorsLoss = document.getElementById("errors-loss");
if (errorsLoss) {
  errorsLoss.replaceChildren(...data.losses.filter(loss => loss in data.errors).map(loss => new Option(loss, loss)));
  errorsLoss.addEventListener("change", () => showErrors(errorsLoss.value));
  showErrors(errorsLoss.value);
}
