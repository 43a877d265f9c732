// The request with which a running gateway makes each edit, and the reading of its answer.
import {
  isAccountPauseReply,
  isKeyEditReply,
  isMadeKeyReply,
  isMadeTokenReply,
  isModeEditReply,
  isRevokedTokenReply,
} from '../../admin/replies/edit-replies.ts';
import type { EditResult, ResultOf, SecretResult } from '../../config/file/edits/edit-config.ts';
import type { EditOrder } from '../../config/file/edits/edit-order.ts';

export interface EditCall<Result> {
  /** For example `POST /api/keys`. */
  readonly request: string;
  readonly body?: unknown;
  /** Undefined for an answer of another form. */
  readonly result: (reply: unknown) => Result | undefined;
}

export const callOf = <Order extends EditOrder>(order: Order): EditCall<ResultOf<Order>> => anyCall(order) as EditCall<ResultOf<Order>>;

function anyCall(order: EditOrder): EditCall<EditResult> | EditCall<SecretResult> {
  switch (order.do) {
    case 'account.pause': {
      const request = `POST /api/accounts/${part(order.id)}/${order.paused ? 'pause' : 'resume'}`;
      return { request, result: (reply) => (isAccountPauseReply(reply) ? { changed: reply.changed } : undefined) };
    }
    case 'key.create': {
      const { id, pool, policies } = order;
      return { request: 'POST /api/keys', body: { id, pool, ...policies }, result: madeKey };
    }
    case 'key.rotate':
      return { request: `POST /api/keys/${part(order.id)}/rotate`, result: madeKey };
    case 'key.status':
      return { request: `POST /api/keys/${part(order.id)}/${STATUS_VERBS[order.status]}`, result: editedKey };
    case 'key.change':
      return { request: `PATCH /api/keys/${part(order.id)}`, body: order.changes, result: editedKey };
    case 'mode.set': {
      const request = `PUT /api/pools/${part(order.pool)}/modes/${part(order.model)}`;
      const result: EditCall<EditResult>['result'] = (reply) => (isModeEditReply(reply) ? { changed: reply.changed } : undefined);
      return { request, body: { mode: order.mode }, result };
    }
    case 'token.create': {
      const { do: _, ...body } = order;
      const result: EditCall<SecretResult>['result'] = (reply) =>
        isMadeTokenReply(reply) ? { changed: true, made: { secret: reply.secret, name: reply.token } } : undefined;
      return { request: 'POST /api/tokens', body, result };
    }
    case 'token.revoke': {
      const request = `DELETE /api/tokens/${part(order.operator)}/${part(order.token)}`;
      return { request, result: (reply) => (isRevokedTokenReply(reply) ? { changed: true } : undefined) };
    }
  }
}

const STATUS_VERBS = { active: 'resume', paused: 'pause', revoked: 'revoke' } as const;

const part = encodeURIComponent;

const editedKey: EditCall<EditResult>['result'] = (reply) => (isKeyEditReply(reply) ? { changed: reply.changed } : undefined);

/** Reads the answer with a new key. The name of the secret, which is the beginning of its hash, is in no answer. */
const madeKey: EditCall<SecretResult>['result'] = (reply) =>
  isMadeKeyReply(reply) ? { changed: reply.changed, made: { secret: reply.secret, name: '' } } : undefined;
