// Sends requests to a running gateway at its admin listener, and reports why there is no answer.
import { FILE_HEADER } from '../../admin/access/stated-file.ts';
import { COMMAND_HEADER } from '../../admin/access/web-pages.ts';
import type { RefusalCode } from '../../admin/api/endpoint.ts';
import { isRefusal } from '../../admin/replies/configuration-replies.ts';
import type { Finding } from '../../config/schema/finding.ts';
import { CommandFailure, originOf } from '../command.ts';
import type { AdminAddress } from './address.ts';

const TIMEOUT_MS = 15_000;

/** The longest wait for replies that a command can do without. */
export const OPTIONAL_TIMEOUT_MS = 10_000;

/** No gateway answered. */
export class Unreachable extends CommandFailure {
  /** Whether a gateway took the request and did not answer in time, so its effect is unknown. */
  readonly isLate: boolean;

  constructor(message: string, { isLate = false } = {}) {
    super(message);
    this.isLate = isLate;
  }
}

/** The gateway refused the request, with a reason. */
export class GatewayRefused extends CommandFailure {
  readonly status: number;
  readonly code: RefusalCode | undefined;

  constructor(message: string, { status, code, ...how }: RefusedOptions) {
    super(message, how);
    this.status = status;
    this.code = code;
  }
}

interface RefusedOptions {
  readonly status: number;
  readonly code: RefusalCode | undefined;
  readonly exitCode?: 1 | 2;
  readonly findings?: readonly Finding[];
}

export interface AskedAnswer {
  /** The request, such as `GET /api/status`. */
  readonly request: string;
  readonly origin: string;
  /** Whether the request stated the token of an operator. */
  readonly hasToken: boolean;
  readonly status: number;
  /** Undefined for a body that is not JSON. */
  readonly body: unknown;
}

interface AskOptions {
  /** The body, which is sent as JSON. */
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string>> | readonly (readonly [string, string])[];
  readonly timeoutMs?: number;
}

/** @throws {Unreachable} */
export async function ask(
  config: AdminAddress,
  request: string,
  { body: sent, query, timeoutMs = TIMEOUT_MS }: AskOptions = {},
): Promise<AskedAnswer> {
  const origin = adminOrigin(config);
  const [method = '', path = ''] = request.split(' ');
  try {
    const response = await fetch(`${origin}${path}${query ? `?${new URLSearchParams(query as Record<string, string>)}` : ''}`, {
      method,
      // Web pages can send this header to another origin only after a preflight.
      headers: {
        [COMMAND_HEADER]: '1',
        [FILE_HEADER]: encodeURIComponent(config.file),
        ...(config.token !== undefined && { authorization: `Bearer ${config.token}` }),
        ...(sent !== undefined && { 'content-type': 'application/json' }),
      },
      ...(sent !== undefined && { body: JSON.stringify(sent) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const body: unknown = await response.json().catch((thrown: unknown) => {
      if (isTimeout(thrown)) throw thrown;
    });
    return { request, origin, hasToken: config.token !== undefined, status: response.status, body };
  } catch (thrown) {
    throw new Unreachable(
      isTimeout(thrown)
        ? `the gateway at ${origin} did not answer within ${timeoutMs / 1000} s`
        : `no gateway answers at ${origin}; is it running, and on this file?`,
      { isLate: isTimeout(thrown) },
    );
  }
}

const isTimeout = (thrown: unknown): boolean => thrown instanceof DOMException && thrown.name === 'TimeoutError';

/** The reason of an answer that is not the expected reply. @param faulty the meaning of errors in the file */
export function refusal(answer: AskedAnswer, faulty = ''): CommandFailure {
  const { status, body } = answer;
  if (!REFUSED.has(status) || !isRefusal(body)) return unexpected(answer);
  const { code, error, findings } = body;
  if (status === 401) {
    const why = answer.hasToken ? 'no operator has the token in POOLGATE_TOKEN' : 'set POOLGATE_TOKEN to a token of one';
    return new GatewayRefused(`${answer.origin} requires an operator: ${why}`, { status, code });
  }
  if (findings) return new GatewayRefused(faulty, { status, code, findings });
  return new GatewayRefused(error, { status, code, exitCode: status === 400 ? 2 : 1 });
}

const REFUSED: ReadonlySet<number> = new Set([400, 401, 403, 404, 409, 422]);

const unexpected = ({ request, origin, status }: AskedAnswer): CommandFailure =>
  new CommandFailure(
    status === 500
      ? `the gateway failed to answer ${request}; its log has the reason`
      : `the answer of ${origin} to ${request} (HTTP ${status}) is not from a gateway of this version; is another version running?`,
  );

/** @throws {Unreachable} if the file has no address */
function adminOrigin({ admin }: AdminAddress): string {
  if (admin === false) {
    throw new Unreachable(
      'the admin listener is turned off in the file (admin: false), so a running gateway cannot be asked; SIGHUP reloads it',
    );
  }
  if (admin.port === 0) throw new Unreachable('the admin listener takes a free port (admin.port: 0), so it cannot be found');
  return originOf(admin);
}
