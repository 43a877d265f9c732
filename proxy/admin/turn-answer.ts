// GET /turn?id=: what the request log keeps of one turn, its attempts, and why it went where it went (Q7).
import type { Gateway } from '../gateway/gateway.ts';
import { type AdminAnswer, adminJson } from './admin-listener.ts';

export async function turnAnswer({ services }: Gateway, query: URLSearchParams): Promise<AdminAnswer> {
  const id = query.get('id') ?? '';
  // A row is queued for up to 100 ms, and whoever asks has just seen the turn end.
  await services.store.flush();
  const [row] = await services.store.requests.list({ id, limit: 1 });
  if (!row) return adminJson(404, { error: 'no such turn' });
  return adminJson(200, { turn: row, attempts: await services.store.attempts.of(row) });
}
