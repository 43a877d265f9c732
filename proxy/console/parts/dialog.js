// A dialog over the page. It has the focus until it is closed by its button, by Escape, or by the element that opened it.
import { useEffect, useRef } from 'preact/hooks';
import { html } from '../base/html.js';

/**
 * @param {{ title: string, close: () => void, isDrawer?: boolean, children?: import('../base/html.js').Children }} props
 * isDrawer: at the side of the page
 */
export function Dialog({ title, close, isDrawer = false, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const { current } = dialog;
    const before = document.activeElement;
    current?.showModal();
    return () => {
      current?.close();
      // The row may have been replaced since the dialog was opened.
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return html`<dialog ref=${dialog} class=${isDrawer ? 'drawer' : 'modal'} aria-labelledby="dialog-title" onCancel=${(
    /** @type {Event} */ event,
  ) => {
    event.preventDefault();
    close();
  }}>
    <header><h2 id="dialog-title">${title}</h2><button type="button" onClick=${close}>Close</button></header>
    ${children}
  </dialog>`;
}
