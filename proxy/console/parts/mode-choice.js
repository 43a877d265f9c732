// The serving mode of a model in a Pool, which the owner of the Pool may change.
import { ask } from '../base/api.js';
import { html } from '../base/html.js';
import { session } from '../base/session.js';
import { SaidText, useAction } from './action.js';
import { editsOff } from './edits-off.js';

/** @param {{ model: any, refresh: () => void }} props */
export function ModeChoice({ model: { pool, id, configured_mode, effective_mode, mode_source }, refresh }) {
  const { busy, said, run } = useAction();
  const source = mode_source === 'override' ? 'set by the configuration' : 'from the catalog';
  const now = html`<small>${effective_mode ?? 'not known'}, ${source}</small>`;
  if (!session.value?.owns.includes(pool)) return html`${configured_mode}${now}`;
  /** @param {Event & { currentTarget: EventTarget | null }} event */
  const choose = ({ currentTarget }) => {
    const mode = /** @type {HTMLSelectElement} */ (currentTarget).value;
    return run('mode', async () => {
      try {
        await ask(`/api/pools/${encodeURIComponent(pool)}/modes/${encodeURIComponent(id)}`, { method: 'PUT', body: { mode } });
      } finally {
        // Also after a refusal, so that the field shows the current mode.
        refresh();
      }
      return 'Set.';
    });
  };
  return html`<select aria-label=${`Mode of ${id} in ${pool}`} disabled=${busy !== '' || editsOff() !== null} value=${configured_mode} onChange=${choose}>
      ${['auto', 'lite', 'full'].map((mode) => html`<option key=${mode} value=${mode}>${mode}</option>`)}
    </select>${now}<${SaidText} said=${said} />`;
}
