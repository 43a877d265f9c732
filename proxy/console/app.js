// The frame of the console: navigation, the state of the connection, the sign-in, and the part that the address selects.
import { useEffect, useState } from 'preact/hooks';
import { address, follow } from './base/address.js';
import { zone } from './base/format.js';
import { html } from './base/html.js';
import { connection, listen, paused, useLive } from './base/live.js';
import { session, signOut } from './base/session.js';
import { SaidText, useAction } from './parts/action.js';
import { SignIn } from './parts/sign-in.js';

/** @typedef {import('./base/session.js').Session} Session */

/** @type {readonly { path: string, name: string, isFor?: (who: Session, nodes: any) => boolean, load: () => Promise<import('preact').FunctionComponent> }[]} */
const PARTS = [
  { path: '/', name: 'Overview', load: () => import('./pages/overview.js').then(({ Overview }) => Overview) },
  { path: '/accounts', name: 'Accounts', load: () => import('./pages/accounts.js').then(({ Accounts }) => Accounts) },
  { path: '/keys', name: 'Keys', load: () => import('./pages/keys.js').then(({ Keys }) => Keys) },
  { path: '/requests', name: 'Requests', load: () => import('./pages/requests.js').then(({ Requests }) => Requests) },
  { path: '/models', name: 'Models', load: () => import('./pages/models.js').then(({ Models }) => Models) },
  {
    path: '/nodes',
    name: 'Nodes',
    isFor: (_who, nodes) => Boolean(nodes?.sharing),
    load: () => import('./pages/nodes.js').then(({ Nodes }) => Nodes),
  },
  {
    path: '/configuration',
    name: 'Configuration',
    isFor: ({ whole }) => whole,
    load: () => import('./pages/configuration.js').then(({ Configuration }) => Configuration),
  },
  {
    path: '/operators',
    name: 'Operators',
    isFor: ({ whole }) => whole,
    load: () => import('./pages/operators.js').then(({ Operators }) => Operators),
  },
  { path: '/audit', name: 'Audit', load: () => import('./pages/audit.js').then(({ Audit }) => Audit) },
];

export function Console() {
  const who = session.value;
  if (who === undefined) return html`<main class="centre"><p role="status">Asking the gateway …</p></main>`;
  if (who === null) return html`<${SignIn} />`;
  return html`<${Frame} who=${who} />`;
}

/** @param {{ who: Session }} props */
function Frame({ who }) {
  const { operator } = who;
  const { said, run } = useAction();
  const leave = () =>
    run('leave', async () => {
      await signOut();
      return '';
    });
  useEffect(listen, []);
  // Read again, because a reload of the configuration may change the rights.
  const { data: now } = useLive('/api/session', ['configuration']);
  useEffect(() => {
    if (now) session.value = now;
  }, [now]);
  const { data: nodes } = useLive(who.whole ? '/api/nodes' : '', ['configuration']);
  const { path } = address.value;
  const part = PARTS.find((one) => one.path === path) ?? PARTS[0];
  useEffect(() => {
    document.title = `${part?.name} · poolgate`;
  }, [path]);
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <header class="bar">
      <strong class="brand">poolgate</strong>
      <nav aria-label="Parts of the console">
        ${PARTS.filter(({ isFor }) => isFor === undefined || isFor(who, nodes)).map(
          ({ path: to, name }) =>
            html`<a href=${to} key=${to} onClick=${follow} aria-current=${to === path ? 'page' : undefined}>${name}</a>`,
        )}
      </nav>
      <div class="tools">
        <${Connection} />
        <button type="button" aria-pressed=${paused.value} onClick=${() => {
          paused.value = !paused.value;
        }}>${paused.value ? 'Paused' : 'Pause'}</button>
        ${operator !== null && html`<button type="button" onClick=${leave}>Sign out ${operator}</button>`}
        ${said?.isBad && html`<${SaidText} said=${said} />`}
      </div>
    </header>
    <main id="main" tabindex="-1"><${Part} key=${part?.path} load=${part?.load} /></main>
    <footer class="hint">Times are those of this browser (${zone()}); commands and the log have UTC.</footer>
  `;
}

const WORDS = { connecting: 'Connecting …', live: 'Live', lost: 'Connection lost; trying again …' };

function Connection() {
  return html`<span class=${`state ${connection.value === 'live' ? 'good' : 'warn'}`} role="status">${WORDS[connection.value]}</span>`;
}

/** @param {{ load: (() => Promise<import('preact').FunctionComponent>) | undefined }} props */
function Part({ load }) {
  const [Loaded, setLoaded] = useState(/** @type {{ of: import('preact').FunctionComponent } | undefined} */ (undefined));
  const [failed, setFailed] = useState(/** @type {'lost' | 'other' | undefined} */ (undefined));
  useEffect(() => {
    load?.().then(
      (of) => setLoaded({ of }),
      () => setFailed(connection.value === 'lost' ? 'lost' : 'other'),
    );
  }, []);
  // A browser does not load a module again whose load has failed.
  const isBack = failed === 'lost' && connection.value === 'live';
  useEffect(() => {
    if (isBack) location.reload();
  }, [isBack]);
  if (failed)
    return html`<p class="notice" role="alert">This part could not be loaded. ${
      failed === 'lost' ? 'It is loaded when the gateway answers again.' : 'Reload the page: the gateway may have another version.'
    }</p>`;
  return Loaded ? html`<${Loaded.of} />` : null;
}
