// `explain --turn ID`: a turn of the request log as lines of text, with the reason for each account that was asked.
import type { AttemptRow, RequestRow } from '../../store/rows.ts';

export interface LoggedTurn {
  readonly turn: RequestRow;
  readonly attempts: readonly AttemptRow[];
}

export function loggedLines({ turn, attempts }: LoggedTurn): readonly string[] {
  const mode = turn.effective_mode && `${turn.effective_mode} by ${turn.mode_source}, configured ${turn.configured_mode}`;
  const tokens = turn.input_tokens === null ? 'not stated' : `${turn.input_tokens} in, ${turn.output_tokens ?? 'unknown'} out`;
  const facts: readonly (readonly [string, string | null])[] = [
    ['at', `${new Date(turn.at).toISOString()}, ${turn.duration_ms} ms`],
    ['request', `${turn.method} ${turn.endpoint}`],
    ['Pool', turn.pool && `${turn.pool}, key ${turn.key_id}`],
    ['model', turn.model],
    ['mode', mode],
    ['answer', [turn.outcome, turn.status, turn.code, turn.error_class].filter((part) => part !== null).join(', ')],
    ['tokens', `${tokens}${turn.tokens_estimated ? ', estimated' : ''}`],
    ['account', turn.account],
    ['why', turn.why?.reason ?? null],
    ['others', turn.why && (Object.entries(turn.why.others).map(counted).join(', ') || 'none')],
    ['moved', turn.why?.left_soft_pin ? `its session's account was left: ${turn.why.left_soft_pin}` : null],
  ];
  return [
    turn.id,
    ...facts.flatMap(([name, said]) => (said === null ? [] : [`  ${name.padEnd(8)} ${said}`])),
    ...(attempts.length > 0 ? ['  attempts, in order:'] : []),
    ...attempts.map(attemptLine),
  ];
}

const counted = ([reason, count]: readonly [string, number]): string => `${count} ${reason}`;

function attemptLine({ account, cause, status, error_class, duration_ms, upstream_error_param }: AttemptRow): string {
  const said = [status === null ? 'no answer' : `status ${status}`, error_class, upstream_error_param && `param ${upstream_error_param}`];
  return `    ${account}  as ${cause}: ${said.filter((part) => part !== null).join(', ')}, ${duration_ms} ms`;
}
