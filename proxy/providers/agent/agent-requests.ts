// The requests to agent backends: the account-side paths of the route table, the client's headers, and the identity of a native client.
import { encodeForm, turnBytes } from '../../turn/json/encode-body.ts';
import { isForm } from '../../turn/json/media-type.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { EncodedAttempt, ProviderRequests } from '../../turn/provider/provider-requests.ts';
import { compareVersions, type StatedVersion, versionIn } from '../../turn/wire/client-version.ts';

export const agentRequests: ProviderRequests = {
  begin: (turn) => ({ path: pathOf(turn), headers: turn.surface.requestHeaders(turn.headers, turn.wire) }),

  json(out, context) {
    const { turn } = context;
    const { headers } = out;
    headers.accept ??= out.body.stream === true ? 'text/event-stream' : 'application/json';
    const passed = turn.kind?.served === 'dispatch' && turn.kind.payload === 'json or form';
    const form = passed && isForm(turn.headers['content-type']) ? encodeForm(out.body) : undefined;
    headers['content-type'] = form?.contentType ?? 'application/json';
    headers['accept-encoding'] = 'identity';
    return {
      method: 'POST',
      path: passed ? out.path + turn.query : out.path,
      headers: identified(headers, context),
      body: form?.bytes ?? turnBytes(out.body, turn),
    };
  },

  /** The query string of pass-through rows is passed on, and not logged (Q15). */
  passed(out, context) {
    const { turn } = context;
    out.headers['accept-encoding'] = 'identity';
    return { method: turn.method, path: isPassThrough(turn) ? out.path + turn.query : out.path, headers: identified(out.headers, context) };
  },

  frames: {
    encode: ({ body }) => ({ body: Buffer.from(JSON.stringify(body)) }),
    upgrade(out, context) {
      out.headers['openai-beta'] = withWebsockets(out.headers['openai-beta']);
      return { method: 'GET', path: out.path, headers: identified(out.headers, context) };
    },
    maxBytes: 15_728_640,
  },
};

/** The version of the websocket protocol, which every upgrade states (RB26). */
const WEBSOCKETS = 'responses_websockets=2026-02-06';

function withWebsockets(beta: string | undefined): string {
  if (beta === undefined || beta.includes('responses_websockets=')) return beta ?? WEBSOCKETS;
  return `${beta}, ${WEBSOCKETS}`;
}

const isPassThrough = ({ kind }: LiveTurn): boolean => kind?.served === 'dispatch' && kind.reply === 'piped';

function identified(sent: Record<string, string>, { turn, own, session }: EncodedAttempt): Record<string, string> {
  const identity = identify(sent, own, turn.surface.agentProtocol ? turn.clientVersion : undefined);
  if (session !== undefined) identity['session-id'] = session;
  return identity;
}

/** The path at the account, with its parameters as they came. */
const pathOf = ({ route: { upstream }, params }: LiveTurn): string =>
  upstream.includes('{') ? upstream.replace(/\{([^}]+)\}/g, (_, name: string) => params[name] ?? '') : upstream;

/**
 * Adds the account's headers, which replace the client's, and states the newer client version of the operator's and the client's (RB2).
 * @param client the version of a native client; undefined for other clients, whose headers state the version of another program
 */
function identify(
  sent: Record<string, string>,
  own: Readonly<Record<string, string>>,
  client: StatedVersion | undefined,
): Record<string, string> {
  const operator = versionIn(own);
  Object.assign(sent, own);
  const version = newer(operator, client)?.text;
  if (version === undefined) return sent;
  sent.version = version;
  const agent = sent['user-agent'];
  // A configured user agent contains a version of the operator's choice.
  const written = (own['user-agent'] === undefined ? client : operator)?.text;
  if (agent !== undefined && written !== undefined && written !== version) sent['user-agent'] = withNumber(agent, written, version);
  return sent;
}

function newer(a: StatedVersion | undefined, b: StatedVersion | undefined): StatedVersion | undefined {
  if (!a) return b;
  return b && compareVersions(b.numbers, a.numbers) > 0 ? b : a;
}

function withNumber(agent: string, from: string, to: string): string {
  const escaped = from.replace(/[.+]/g, '\\$&');
  return agent.replace(new RegExp(`(?<![\\d.])${escaped}(?![\\d.])`, 'g'), () => to);
}
