// One endpoint of the admin API: its name, what it needs of its asker, the schemas of what it takes and answers, and the answer.
import type { Finding } from '../../config/schema/finding.ts';
import type { Schema } from '../../turn/json/field-schemas.ts';
import type { Asker, Need } from '../access/asker.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** A request whose query and body have been checked. */
export interface Asked<Query, Body> {
  readonly asker: Asker;
  /** The parts of the path that the template names, decoded. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
}

export interface EndpointOf<Query, Body, Reply> {
  /** `GET /api/requests/{id}`. */
  readonly name: `${Method} /api/${string}`;
  /** One sentence. */
  readonly summary: string;
  readonly need: Need;
  readonly query?: Schema<Query>;
  readonly body?: Schema<Body>;
  /** The most bytes of its body, where that is not the usual bound. */
  readonly bodyBytes?: () => number;
  readonly reply: Schema<Reply>;
  /** The statuses of its refusals, besides those of every endpoint. */
  readonly refuses?: readonly (404 | 409 | 422)[];
  /** @throws ApiRefusal */
  answer(asked: Asked<Query, Body>): Reply | Promise<Reply>;
}

export type Endpoint = EndpointOf<unknown, unknown, unknown>;

/** Fixes the types of query, body and reply by inference from the schemas. */
export const endpoint = <Query, Body, Reply>(definition: EndpointOf<Query, Body, Reply>): Endpoint => definition as Endpoint;

/** The body of a refusal. */
export interface RefusalReply {
  readonly error: string;
  /** The parameter or member that is wrong. */
  readonly param?: string;
  /** Of a configuration file with errors. */
  readonly findings?: readonly Finding[];
}

/** Its message is public. */
export class ApiRefusal extends Error {
  readonly status: 400 | 401 | 403 | 404 | 409 | 422;
  readonly reply: RefusalReply;

  constructor(status: ApiRefusal['status'], error: string, more: Omit<RefusalReply, 'error'> = {}) {
    super(error);
    this.status = status;
    this.reply = { error, ...more };
  }
}
