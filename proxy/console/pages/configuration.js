// Configuration: the file without its private values, with findings at their lines, the changes that a reload would make, and the reload.
import { ask } from '../base/api.js';
import { html } from '../base/html.js';
import { useLive } from '../base/live.js';
import { SaidText, useAction } from '../parts/action.js';
import { Failure, Section, State, Table, Waiting } from '../parts/shown.js';

/** @typedef {{ line: number, column: number, message: string, severity: 'error' | 'warning' }} Finding */

export function Configuration() {
  const { data, error, refresh } = useLive('/api/config', ['configuration']);
  const { busy, said, run } = useAction();
  const reload = () =>
    run('reload', async () => {
      const { changes } = await ask('/api/reload', { method: 'POST' });
      refresh();
      return changes.length === 0 ? 'The file says what runs already.' : 'Reloaded.';
    });
  return html`
    <div class="title"><h1>Configuration</h1><span class="actions">
      <button type="button" onClick=${refresh}>Read the file again</button>
      <button type="button" class="primary" disabled=${busy !== ''} onClick=${reload}>${busy === '' ? 'Reload' : 'Reloading …'}</button>
    </span></div>
    <p><${SaidText} said=${said} /></p>
    <${Failure} error=${error} hasData=${data !== undefined} />
    <${Waiting} isWaiting=${data === undefined && !error} />
    ${data && html`<${File} file=${data} />`}
  `;
}

/** @param {{ file: any }} props */
function File({ file }) {
  const { findings, changes, text, edits } = file;
  const errors = findings.filter((/** @type {Finding} */ { severity }) => severity === 'error').length;
  return html`
    <p class="lead"><code>${file.path}</code>: <${State} tone=${errors > 0 ? 'bad' : file.version === file.file_version ? 'good' : 'warn'}>${
      errors > 0
        ? `${errors === 1 ? 'one error' : `${errors} errors`}; the gateway goes on with what it read before`
        : file.version === file.file_version
          ? 'this is what runs'
          : 'what runs is older than the file'
    }</${State}></p>
    ${edits.off !== null && html`<p class="notice quiet">Edits are off: ${edits.off}.</p>`}
    ${changes !== null && changes.length > 0 && html`<${Section} title="What a reload would change"><${Changes} changes=${changes} /></${Section}>`}
    ${findings.length > 0 && html`<${Section} title="Findings"><ul class="plain">${findings.map((/** @type {Finding} */ one) => html`<li key=${`${one.line} ${one.column} ${one.message}`}><${Found} finding=${one} /></li>`)}</ul></${Section}>`}
    ${text !== null && html`<${Section} title="The file, without private values"><${Text} text=${text} findings=${findings} /></${Section}>`}
  `;
}

/** @param {{ finding: Finding }} props */
const Found = ({ finding: { line, column, message, severity } }) =>
  html`<span class=${severity === 'error' ? 'bad' : 'warn'}>${severity}</span> <a href=${`#line-${line}`}>line ${line}:${column}</a> ${message}`;

/** @param {{ changes: readonly any[] }} props */
function Changes({ changes }) {
  /** @type {readonly import('../parts/shown.js').Column<any>[]} */
  const columns = [
    { head: 'Setting', cell: ({ path }) => html`<code>${path}</code>` },
    { head: 'Change', cell: ({ kind, restart }) => html`${kind}${restart && html`<small class="warn">only after a restart</small>`}` },
    { head: 'From', cell: ({ from }) => shown(from) },
    { head: 'To', cell: ({ to }) => shown(to) },
  ];
  return html`<${Table} caption="What a reload would change" columns=${columns} rows=${changes} keyOf=${(/** @type {any} */ { path }) => path} empty="" />`;
}

/** @param {unknown} value */
const shown = (value) => (value === undefined ? '–' : typeof value === 'string' ? value : html`<code>${JSON.stringify(value)}</code>`);

/** A line break. Templates remove line breaks in their own text. */
const END = '\n';

/** The lines with their numbers, and the findings below them. @param {{ text: string, findings: readonly Finding[] }} props */
function Text({ text, findings }) {
  return html`<pre class="file" tabindex="0" role="region" aria-label="The file">${text
    .replace(/\n$/, '')
    .split('\n')
    .map((content, i) => {
      const here = findings.filter(({ line }) => line === i + 1);
      return html`<span key=${i} id=${`line-${i + 1}`} class=${here.length > 0 ? 'found' : undefined}><span class="line-number" aria-hidden="true">${i + 1}</span>${content}${END}${here.map(
        ({ message, severity }) =>
          html`<span key=${message} class=${`remark ${severity === 'error' ? 'bad' : 'warn'}`}>${message}</span>${END}`,
      )}</span>`;
    })}</pre>`;
}
