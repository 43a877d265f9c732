// A client that sends one request on a separate connection, and reads its whole answer, or as much as came.
import { request } from 'node:http';

export interface HttpAnswer {
  /** The status; 0 if none came. */
  readonly status: number;
  readonly requestId: string | undefined;
  readonly retryAfter: string | undefined;
  readonly text: string;
  readonly isWhole: boolean;
  /** The code of the system if the connection broke. */
  readonly broken: string | undefined;
}

export interface HttpOrder {
  readonly path: string;
  readonly secret: string;
  readonly body: object;
  /** Aborts the request at the client's deadline. */
  readonly signal: AbortSignal;
}

export function post(url: string, { path, secret, body, signal }: HttpOrder): Promise<HttpAnswer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let head: Pick<HttpAnswer, 'status' | 'requestId' | 'retryAfter'> = { status: 0, requestId: undefined, retryAfter: undefined };
    const over = (isWhole: boolean, broken: string | undefined): void =>
      resolve({ ...head, text: Buffer.concat(chunks).toString(), isWhole, broken });
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    const sent = request(url + path, { method: 'POST', agent: false, headers, signal }, (response) => {
      const { statusCode = 0, headers: answered } = response;
      head = { status: statusCode, requestId: headerOf(answered['x-request-id']), retryAfter: answered['retry-after'] };
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', (error: NodeJS.ErrnoException) => over(false, error.code ?? error.message));
      response.on('end', () => over(response.complete, undefined));
    });
    sent.on('error', (error: NodeJS.ErrnoException) => over(false, error.code ?? error.message));
    sent.end(JSON.stringify(body));
  });
}

const headerOf = (value: string | readonly string[] | undefined): string | undefined => (typeof value === 'string' ? value : value?.[0]);
