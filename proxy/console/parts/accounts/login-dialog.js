// Logs an account in at its provider, with a code for any browser, or with a link and the address at which the browser ended.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, ask } from '../../base/api.js';
import { span, time } from '../../base/format.js';
import { html } from '../../base/html.js';
import { clock } from '../../base/live.js';
import { SaidText, useAction } from '../action.js';
import { Copied } from '../copied.js';
import { Dialog } from '../dialog.js';
import { Prose, State, Waiting } from '../shown.js';

const POLL_MS = 2_000;
/** How long after the end of the wait a gateway that does not answer is asked again. The login may have ended before that. */
const LATEST_MS = 60_000;

/** @typedef {{ id: string, way: 'device' | 'link', state: 'waiting' | 'storing' | 'done' | 'failed', seconds_left: number, device: { user_code: string, url: string, url_with_code: string | null } | null, link: { url: string, redirect_url: string } | null, notice: string | null, text: string | null }} Run */

/** @param {{ id: string, close: () => void, refresh: () => void }} props refresh: reads the accounts again */
export function LoginDialog({ id, close, refresh }) {
  const { busy, said, run: act } = useAction();
  const [known, setKnown] = useState(/** @type {any} */ (undefined));
  const [run, follow] = useRun(refresh);
  const path = `/api/accounts/${encodeURIComponent(id)}`;
  useEffect(() => {
    void act('ask', async () => {
      setKnown(await ask(`${path}/login`));
      return '';
    });
  }, []);
  /** @param {Run['way']} way @param {boolean} anotherUser */
  const begin = (way, anotherUser) =>
    act(way, async () => {
      follow(await ask(`${path}/logins`, { method: 'POST', body: { way, another_user: anotherUser } }));
      return '';
    });
  const read = () =>
    act('read', async () => {
      const { credential } = await ask(`${path}/relogin`, { method: 'POST' });
      refresh();
      if (credential === null) return 'It has no credential.';
      return credential === 'imported' ? 'Uses the new login.' : 'Its login has not changed; the next turn tries it.';
    });
  const leave = () => {
    // Ended, because a login that is left open could be confirmed by mistake.
    if (run?.state === 'waiting') ask(`/api/logins/${run.id}`, { method: 'DELETE' }).catch(() => undefined);
    close();
  };
  return html`<${Dialog} title=${`Login of ${id}`} close=${leave}>
    ${
      run
        ? html`<${Progress} run=${run} follow=${follow} again=${() => follow(undefined)} />`
        : known
          ? html`<${Choice} known=${known} busy=${busy} begin=${begin} read=${read} />`
          : html`<${Waiting} isWaiting=${busy === 'ask'} />`
    }
    <p><${SaidText} said=${said} /></p>
  </${Dialog}>`;
}

/**
 * The login in progress, which is requested again until it has ended.
 * @param {() => void} ended
 * @returns {readonly [(Run & { until: number }) | undefined, (run: Run | undefined) => void]}
 */
function useRun(ended) {
  const [run, setRun] = useState(/** @type {(Run & { until: number }) | undefined} */ (undefined));
  const [asked, setAsked] = useState(0);
  /** @param {Run | undefined} next */
  const follow = (next) => setRun(next && { ...next, until: Date.now() + next.seconds_left * 1_000 });
  const isUnderWay = run?.state === 'waiting' || run?.state === 'storing';
  useEffect(() => {
    if (!isUnderWay) {
      if (run?.state === 'done') ended();
      return undefined;
    }
    let isCurrent = true;
    const timer = setTimeout(() => {
      ask(`/api/logins/${run.id}`)
        .then(
          (next) => isCurrent && follow(next),
          (error) => {
            // The next request may reach another node, and a restarted gateway does not know the login.
            const isLost = error instanceof ApiError && (error.status === 0 || error.code === 'other_node');
            if (isCurrent && (!isLost || Date.now() > run.until + LATEST_MS)) setRun({ ...run, state: 'failed', text: error.message });
          },
        )
        .finally(() => isCurrent && setAsked((count) => count + 1));
    }, POLL_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [run?.id, run?.state, asked]);
  return [run, follow];
}

/** @param {{ known: any, busy: string, begin: (way: Run['way'], anotherUser: boolean) => void, read: () => void }} props */
function Choice({ known: { login, ways, advice }, busy, begin, read }) {
  const [anotherUser, setAnotherUser] = useState(false);
  const isBusy = busy !== '';
  return html`
    ${login && html`<p class="hint">It has a login${login.identity === null ? '' : ` of ${login.identity}`}, stored ${time(login.at)}.</p>`}
    ${advice !== null && html`<p class="notice quiet"><${Prose} text=${advice} /></p>`}
    ${
      login &&
      ways.length > 0 &&
      html`<p><label class="check"><input type="checkbox" checked=${anotherUser} onChange=${() => setAnotherUser(!anotherUser)} /> Another user than before may have the account</label></p>`
    }
    <p class="actions">
      ${ways.map(
        (/** @type {Run['way']} */ way, /** @type {number} */ i) =>
          html`<button type="button" key=${way} class=${i === 0 ? 'primary' : undefined} disabled=${isBusy} onClick=${() => begin(way, anotherUser)}>${busy === way ? 'Asking its provider …' : way === 'device' ? 'Get a code' : 'Get a link'}</button>`,
      )}
      <button type="button" disabled=${isBusy} onClick=${read}>Read its credential again</button>
    </p>
  `;
}

/** @param {{ run: Run & { until: number }, follow: (run: Run) => void, again: () => void }} props */
function Progress({ run, follow, again }) {
  const { state, device, link, notice, text } = run;
  return html`
    ${device && html`<${Code} device=${device} />`}
    ${link && html`<${Link} id=${run.id} link=${link} follow=${follow} />`}
    ${state === 'waiting' && html`<p class="hint">Valid for ${span(Math.max(0, run.until - clock.value))}. Closing this dialog ends the login.</p>`}
    <p role="status">${
      state === 'waiting'
        ? (notice ?? 'Waiting for the confirmation at the provider …')
        : state === 'storing'
          ? 'Asking the provider for the tokens, and the account for its models …'
          : html`<${State} tone=${state === 'done' ? 'good' : 'bad'}><${Prose} text=${sentenceOf(text ?? '')} /></${State}>`
    }</p>
    ${state === 'failed' && html`<p class="actions"><button type="button" class="primary" onClick=${again}>Begin again</button></p>`}
  `;
}

/** @param {string} text */
const sentenceOf = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** @param {{ device: NonNullable<Run['device']> }} props */
const Code = ({ device: { user_code, url, url_with_code } }) => html`
  <p>Open <${Outside} href=${url}>${url}</${Outside}> in any browser, and enter this code:</p>
  <div class="user-code"><${Copied} text=${user_code} label="Code" /></div>
  ${url_with_code !== null && html`<p><${Outside} href=${url_with_code}>Open it with the code</${Outside}></p>`}
`;

/** @param {{ id: string, link: NonNullable<Run['link']>, follow: (run: Run) => void }} props */
function Link({ id, link: { url, redirect_url }, follow }) {
  const { busy, said, run } = useAction();
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    const callback = String(new FormData(/** @type {HTMLFormElement} */ (event.currentTarget)).get('callback') ?? '');
    void run('callback', async () => {
      follow(await ask(`/api/logins/${id}/callback`, { method: 'POST', body: { callback } }));
      return '';
    });
  };
  return html`
    <p><${Outside} href=${url}>Open the page of its provider</${Outside}>, or copy its address into another browser:</p>
    <${Copied} text=${url} label="Address" />
    <p>The browser ends at an address that begins with <code>${redirect_url}</code>, which need not load, or shows a code.</p>
    <form class="fields" onSubmit=${submit}>
      <label>That address, or the code <input name="callback" required autocomplete="off" spellcheck=${false} maxlength="8192" /></label>
      <p class="actions"><button type="submit" class="primary" disabled=${busy !== ''}>${busy === '' ? 'Continue' : 'Asking its provider …'}</button><${SaidText} said=${said} /></p>
    </form>
  `;
}

/**
 * A link out of the console. The provider states it, so only a web address becomes a link, and any other text stays text.
 * @param {{ href: string, children?: import('../../base/html.js').Children }} props
 */
const Outside = ({ href, children }) =>
  /^https?:\/\//i.test(href) ? html`<a href=${href} target="_blank" rel="noreferrer noopener">${children}</a>` : html`<code>${href}</code>`;
