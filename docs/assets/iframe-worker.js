// Search in pages that are opened from a folder: browsers start no worker there, so a hidden frame runs its script.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.worker = this;
      this.frame.srcdoc = `<script>
        window.postMessage = data =>
          frameElement.worker.dispatchEvent(new MessageEvent("message", { data }));
      </script><script src="${url}"></script>`;
      this.started = new Promise(resolve => this.frame.addEventListener("load", resolve));
      document.body.append(this.frame);
    }
    postMessage(data) {
      this.started.then(() =>
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
