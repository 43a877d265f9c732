// The form of an event stream: its line ends, and additions of servers to the documented form (AA57, AA89).
import { type Fault, faultOfKind } from '../faults/fault.ts';
import type { StreamForm } from '../faults/reply-forms.ts';

export interface SseForm {
  /** The text before the first event. */
  readonly start: string;
  comment(text: string): string;
  /** @param type the event's name; undefined if the event has none */
  event(data: string, type: string | undefined): string;
}

const NEWLINES = { lf: '\n', cr: '\r', crlf: '\r\n' } as const;

export function sseForm(faults: readonly Fault[]): SseForm {
  const forms = new Set(faults.flatMap((fault): StreamForm[] => (fault.kind === 'stream' ? [fault.is] : [])));
  const newline = NEWLINES[faultOfKind(faults, 'framing')?.newline ?? 'lf'];
  const space = forms.has('no space') ? '' : ' ';
  const comment = (text: string): string => `: ${text}${newline}${newline}`;
  let id = 0;
  return {
    start: forms.has('byte order mark') ? '\uFEFF' : '',
    comment,
    event(data, type) {
      id += 1;
      const name = type ?? (forms.has('event ids') ? 'message' : undefined);
      const fields = [
        ...(name === undefined ? [] : [`event:${space}${name}`]),
        ...(forms.has('event ids') ? [`id:${space}${id}`] : []),
        ...(forms.has('split data') ? pieces(data) : [data]).map((piece) => `data:${space}${piece}`),
      ];
      const before = `${forms.has('comments') ? comment('REHEARSAL PROCESSING') : ''}${forms.has('empty data') ? `data:${newline}${newline}` : ''}`;
      return `${before}${fields.map((field) => field + newline).join('')}${newline}`;
    },
  };
}

/** Divides JSON into several lines. A line may end after a member, because white space has no meaning there. */
function pieces(data: string): readonly string[] {
  if (!data.startsWith('{')) return [data];
  return JSON.stringify(JSON.parse(data), null, 1).split('\n');
}
