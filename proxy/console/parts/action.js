// An action of an operator. Its button is disabled until the gateway has answered, and the result is shown next to it.
import { useState } from 'preact/hooks';
import { html } from '../base/html.js';

/** @typedef {{ text: string, isBad: boolean }} Said */

/**
 * @returns {{ busy: string, said: Said | undefined, run: (name: string, action: () => Promise<string | Said>) => Promise<void> }}
 * run: never rejects
 */
export function useAction() {
  const [said, setSaid] = useState(/** @type {Said | undefined} */ (undefined));
  const [busy, setBusy] = useState('');
  /** @param {string} name @param {() => Promise<string | Said>} action */
  const run = async (name, action) => {
    setBusy(name);
    setSaid(undefined);
    try {
      const result = await action();
      setSaid(typeof result === 'string' ? { text: result, isBad: false } : result);
    } catch (error) {
      setSaid({ text: error instanceof Error ? error.message : 'It failed.', isBad: true });
    }
    setBusy('');
  };
  return { busy, said, run };
}

/** @param {{ said: Said | undefined }} props */
export const SaidText = ({ said }) => html`<span role="status" class=${said?.isBad ? 'bad' : 'hint'}>${said?.text}</span>`;
