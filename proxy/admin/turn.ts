// GET /turn?id=: what the request log keeps of one turn, its attempts, and why it went where it went (Q7).
import type { Gateway } from '../gateway.ts';
import { type AdminAnswer, adminJson } from './server.ts';

export async function turnAnswer({ parts }: Gateway, query: URLSearchParams): Promise<AdminAnswer> {
  const id = query.get('id') ?? '';
  // A row is queued for up to 100 ms, and whoever asks has just seen the turn end.
  await parts.store.flush();
  const [row] = await parts.store.requests.list({ id, limit: 1 });
  if (!row) return adminJson(404, { error: 'no such turn' });
  return adminJson(200, { turn: row, attempts: await parts.store.attempts.of(row) });
}
