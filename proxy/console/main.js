// The first module of the console. It finds out who is signed in, and shows the page.
import { render } from 'preact';
import { Console } from './app.js';
import { html } from './base/html.js';
import { readSession } from './base/session.js';

const root = /** @type {HTMLElement} */ (document.getElementById('console'));
const show = () => render(html`<${Console} />`, root);

show();
const retry = () => readSession().catch(() => setTimeout(retry, 2_000));
void retry();
