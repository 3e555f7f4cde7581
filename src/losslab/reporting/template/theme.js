// Runs in the head, so that a page that opens dark does not flash in light.
const storage = {
  get(name) { try { return localStorage.getItem(name); } catch { return null; } },
  set(name, value) { try { localStorage.setItem(name, value); } catch { /* a page opened from a file may have none */ } },
};
function setTheme(choice) {
  const root = document.documentElement;
  if (choice === "light" || choice === "dark") root.dataset.theme = choice; else delete root.dataset.theme;
  dispatchEvent(new Event("themechange"));
}
setTheme(storage.get("losslab-theme"));
addEventListener("DOMContentLoaded", () => {
  const current = document.documentElement.dataset.theme || "system";
  for (const button of document.querySelectorAll("input[name=theme]")) {
    button.checked = button.value === current;
    button.addEventListener("change", () => { storage.set("losslab-theme", button.value); setTheme(button.value); });
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));
