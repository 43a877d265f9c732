// One endpoint of the admin API: its name, the rights that it requires, the schemas of its input and output, and its answer.
import type { Finding } from '../../config/schema/finding.ts';
import type { Schema } from '../../turn/json/field-schemas.ts';
import type { Asker, Need } from '../access/asker.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A request whose query and body have been checked. */
export interface EndpointRequest<Query, Body> {
  readonly asker: Asker;
  /** The decoded parts of the path that the template names. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
}

export interface EndpointOf<Query, Body, Reply> {
  /** For example `GET /api/requests/{id}`. */
  readonly name: `${Method} /api/${string}`;
  /** A description in one sentence. */
  readonly summary: string;
  readonly need: Need;
  readonly query?: Schema<Query>;
  readonly body?: Schema<Body>;
  /** The most bytes of the body, if it differs from the default. */
  readonly bodyBytes?: () => number;
  readonly reply: Schema<Reply>;
  /** Whether the endpoint is about the configuration file. A client that states another file is refused. */
  readonly ofFile?: boolean;
  /** The statuses of its refusals, besides those of every endpoint. */
  readonly refuses?: readonly (404 | 409 | 422)[];
  /** @throws ApiRefusal */
  answer(asked: EndpointRequest<Query, Body>): Reply | Promise<Reply>;
}

export type Endpoint = EndpointOf<unknown, unknown, unknown>;

/** Lets the compiler infer the types of query, body and reply from the schemas. */
export const endpoint = <Query, Body, Reply>(definition: EndpointOf<Query, Body, Reply>): Endpoint => definition as Endpoint;

/** The codes by which programs recognise refusals. */
export const REFUSAL_CODES = [
  'invalid_request',
  'sign_in_required',
  'not_permitted',
  'not_found',
  'method_not_allowed',
  'conflict',
  'other_file',
  'other_node',
  'edits_off',
  'file_changed',
  'request_too_large',
  'invalid_configuration',
] as const;

export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** The codes of refusals without a code of their own, by status. */
const CODES: Readonly<Record<ApiRefusal['status'] | 405, RefusalCode>> = {
  400: 'invalid_request',
  401: 'sign_in_required',
  403: 'not_permitted',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  422: 'invalid_configuration',
};

export const apiRefusal = (status: keyof typeof CODES, error: string, more: Omit<RefusalReply, 'error'> = {}): RefusalReply => ({
  error,
  code: CODES[status],
  ...more,
});

/** The body of a refusal. */
export interface RefusalReply {
  readonly error: string;
  readonly code?: RefusalCode;
  /** The wrong parameter or member. */
  readonly param?: string;
  /** The findings of a configuration file with errors. */
  readonly findings?: readonly Finding[];
}

/** A refusal, whose message is public. */
export class ApiRefusal extends Error {
  readonly status: 400 | 401 | 403 | 404 | 409 | 422;
  readonly reply: RefusalReply;

  constructor(status: ApiRefusal['status'], error: string, more: Omit<RefusalReply, 'error'> = {}) {
    super(error);
    this.status = status;
    this.reply = apiRefusal(status, error, more);
  }
}
