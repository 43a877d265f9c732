// The pages on which the person at a simulated login decides, and the answers that follow.
import type { SimulatedAnswer } from '../delivery/answer.ts';
import type { ReceivedRequest } from '../received-request.ts';

/** What the person did; `expire`: nothing in time; `other state`: the browser comes back with the callback of another login. */
export interface LoginDecision {
  readonly is: 'allow' | 'deny' | 'expire' | 'other state';
  readonly user: string | undefined;
}

const DECISIONS: Readonly<Record<LoginDecision['is'], string>> = {
  allow: 'Allow',
  deny: 'Deny',
  expire: 'Let it expire',
  'other state': 'Come back with another state',
};

/** The query members `decision` and `user`, which the links of the page add; undefined if nothing is decided yet. */
export function decisionIn(query: URLSearchParams): LoginDecision | undefined {
  const is = Object.keys(DECISIONS).find((one): one is LoginDecision['is'] => one === query.get('decision'));
  const user = query.get('user') ?? undefined;
  return is && { is, user: user !== undefined && /^[\w.-]{1,40}$/.test(user) ? user : undefined };
}

/** A link for each decision, and one as another user. */
export function loginPage({ path, query }: ReceivedRequest, question: string): SimulatedAnswer {
  const link = (members: Readonly<Record<string, string>>, text: string): string => {
    const all = new URLSearchParams(query);
    for (const [name, value] of Object.entries(members)) all.set(name, value);
    return `<p><a href="${escaped(`${path}?${all}`)}">${text}</a></p>`;
  };
  const links = Object.entries(DECISIONS).map(([decision, text]) => link({ decision }, text));
  return page([`<p>${escaped(question)}</p>`, ...links, link({ decision: 'allow', user: 'another-user' }, 'Allow as another user')]);
}

/** Asks for the code that a device shows. */
export const codePage = ({ path }: ReceivedRequest): SimulatedAnswer =>
  page([`<form action="${escaped(path)}"><label>Code <input name="user_code"></label> <button>Continue</button></form>`]);

export const shownPage = (text: string, status = 200): SimulatedAnswer => page([`<p>${escaped(text)}</p>`], status);

/** Sends the browser to the client's redirect address. */
export function backTo(redirectUri: string, members: Readonly<Record<string, string>>): SimulatedAnswer {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(members)) url.searchParams.set(name, value);
  return { status: 302, headers: { location: url.href, 'cache-control': 'no-store' }, body: { kind: 'bytes', bytes: Buffer.alloc(0) } };
}

function page(lines: readonly string[], status = 200): SimulatedAnswer {
  const html = ['<!doctype html>', '<title>Simulated provider</title>', '<h1>Simulated provider</h1>', ...lines, ''].join('\n');
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, body: { kind: 'bytes', bytes: Buffer.from(html) } };
}

const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
