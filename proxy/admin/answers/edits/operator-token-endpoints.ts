// GET and POST /api/tokens, DELETE /api/tokens/{operator}/{token}: the operators and their tokens (S9).
import { versionOf } from '../../../config/config-diff.ts';
import type { AdminTarget } from '../../admin-target.ts';
import { type Endpoint, endpoint } from '../../api/endpoint.ts';
import { MADE_TOKEN, NEW_TOKEN, REVOKED_TOKEN, TOKENS } from '../../replies/edit-replies.ts';
import { operatorListing } from '../../replies/listing-replies.ts';
import { edited } from './edited.ts';

export const tokenEdits = (gateway: AdminTarget): readonly Endpoint[] => [
  endpoint({
    name: 'GET /api/tokens',
    summary: 'The operators, with the names of their tokens.',
    need: 'whole',
    ofFile: true,
    reply: TOKENS,
    answer: () => ({ operators: gateway.loaded.config.operators.map(operatorListing) }),
  }),
  endpoint({
    name: 'POST /api/tokens',
    summary: 'Creates a token, with its operator if that is new. It is in this answer, and nowhere else.',
    need: 'whole',
    ofFile: true,
    body: NEW_TOKEN,
    reply: MADE_TOKEN,
    refuses: [409, 422],
    async answer({ asker, body }) {
      const { made } = await edited(gateway, asker, { ...body, do: 'token.create' });
      return { operator: body.operator, token: made.name, secret: made.secret, version: versionOf(gateway.loaded.config) };
    },
  }),
  endpoint({
    name: 'DELETE /api/tokens/{operator}/{token}',
    summary: 'Revokes a token, and ends the sessions that it began. With its last token the operator is removed.',
    need: 'whole',
    ofFile: true,
    reply: REVOKED_TOKEN,
    refuses: [404, 409, 422],
    async answer({ asker, path: { operator = '', token = '' } }) {
      await edited(gateway, asker, { do: 'token.revoke', operator, token });
      const { config } = gateway.loaded;
      const left = config.operators.find(({ id }) => id === operator)?.token_sha256.length ?? 0;
      return { operator, token, left, version: versionOf(config) };
    },
  }),
];
