import { button, el } from "/web/dom.js";
import { store } from "./store.js";

const MOST = 4_000_000; // bytes the server takes

/** A file in which another tool wrote down what a person decided. */
export function showImport() {
  const field = el("input", { type: "file", accept: ".csv,.json,.jsonl,text/csv,application/json", "aria-label": "File to import" });
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  const start = button("Import", send, { class: "main", disabled: true });
  const dialog = el("dialog", { class: "import", "aria-labelledby": "import-title" },
    el("h2", { id: "import-title" }, "Import decisions"),
    el("p", { class: "hint" }, "A CSV file with path and label, or an export of Label Studio or FiftyOne. It becomes edits, which one undo takes back."),
    field, problem, el("p", { class: "links" }, start, button("Cancel", () => dialog.close())));
  field.addEventListener("change", () => { start.disabled = !field.files.length; });

  async function send() {
    const [file] = field.files;
    if (file.size > MOST) {
      problem.textContent = "This file is larger than 4 MB: use legogcd import RUN FILE.";
      problem.hidden = false;
      return;
    }
    start.disabled = true;
    const text = await file.text();
    dialog.close();
    await store.send("/api/import", { name: file.name, text });
  }

  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
