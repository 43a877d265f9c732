// The sign-in. It exchanges an operator's token for a session, and does not keep the token.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from '../base/html.js';
import { signIn } from '../base/session.js';

export function SignIn() {
  const [failure, setFailure] = useState('');
  const [isBusy, setBusy] = useState(false);
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  // Browsers follow `autofocus` only once in the life of a page, which may have been signed in before. A layout effect runs before the page
  // is painted, so that no key that is pressed at the sight of the form is lost.
  useLayoutEffect(() => field.current?.focus(), []);
  /** @param {SubmitEvent} event */
  const submit = async (event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.currentTarget);
    const token = String(new FormData(form).get('token') ?? '').trim();
    setBusy(true);
    try {
      await signIn(token);
    } catch (error) {
      setFailure(error instanceof Error && !/sign-in is required/.test(error.message) ? error.message : 'No operator has this token.');
      setBusy(false);
    }
  };
  return html`<main class="centre">
    <form class="card" onSubmit=${submit}>
      <h1>Sign in to poolgate</h1>
      <label for="token">Token of an operator</label>
      <input ref=${field} id="token" name="token" type="password" autocomplete="current-password" required aria-describedby="token-hint" />
      <p id="token-hint" class="hint">An administrator makes one: <code>poolgate token create</code></p>
      ${failure !== '' && html`<p role="alert" class="bad">${failure}</p>`}
      <button type="submit" disabled=${isBusy}>${isBusy ? 'Signing in …' : 'Sign in'}</button>
    </form>
  </main>`;
}
