// GET /api/nodes: the nodes on the store, if it has several.
import { nullable, object } from '../../turn/json/field-schemas.ts';
import type { AdminTarget } from '../admin-target.ts';
import { type Endpoint, endpoint } from '../api/endpoint.ts';
import { SHARING } from '../replies/status-reply.ts';

export const nodes = ({ services }: AdminTarget): Endpoint =>
  endpoint({
    name: 'GET /api/nodes',
    summary: 'The nodes on the store, with their state, version and configuration; null for the only node of a SQLite store.',
    need: 'whole',
    reply: object({ sharing: nullable(SHARING) }),
    async answer() {
      await services.node?.refresh();
      return { sharing: services.node?.status() ?? null };
    },
  });
