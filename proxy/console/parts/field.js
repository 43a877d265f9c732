// A field of a filter. It shows the value in the address, except while a person types.
import { useEffect, useRef } from 'preact/hooks';
import { html } from '../base/html.js';

/**
 * @param {{ label: string, value: string | undefined, change: (value: string) => void, hint?: string, type?: string }} props
 * change: gets the value when it was entered
 */
export function Field({ label, value = '', change, hint, type = 'text' }) {
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => {
    // An update of the page must not replace what a person is typing.
    if (input.current && document.activeElement !== input.current) input.current.value = value;
  }, [value]);
  return html`<label>${label}
    <input ref=${input} type=${type} defaultValue=${value} placeholder=${hint} onChange=${(/** @type {any} */ event) => change(event.currentTarget.value.trim())} />
  </label>`;
}
