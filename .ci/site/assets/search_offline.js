// SPDX-License-Identifier: Apache-2.0
// Search in pages that are opened as files: browsers let those neither fetch the index nor start a worker. The index
// is then a script, and the worker a frame.
function searchOffline(index) {
  if (location.protocol !== "file:") return;
  window.__search = {index: new Promise(found => { window.__searchIndex = found; })};
  const script = document.createElement("script");
  script.src = index;
  document.head.appendChild(script);

  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<script>postMessage = data => parent.postMessage(data, '*')</" + "script>" +
          `<script src="${new URL(url, location)}"></` + "script>";
      this.loaded = new Promise(done => { frame.onload = () => done(frame.contentWindow); });
      addEventListener("message", event => {
        if (event.source === frame.contentWindow) this.dispatchEvent(new MessageEvent("message", {data: event.data}));
      });
      document.body.appendChild(frame);
    }
    postMessage(data) {
      this.loaded.then(frame => frame.dispatchEvent(new frame.MessageEvent("message", {data})));
    }
    terminate() {}
  };
}
