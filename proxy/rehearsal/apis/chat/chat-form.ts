// The form of one Chat reply, as the quirks of the server and the faults of the request determine it.
import type { Quirks } from '../../../turn/provider/quirks.ts';
import { type Fault, faultOfKind } from '../../faults/fault.ts';
import type { ReasoningSpelling, ReplyForm } from '../../faults/reply-forms.ts';

export interface ChatForm {
  has(form: ReplyForm): boolean;
  /** Replaces the documented finish reason. */
  readonly finish: string | undefined;
  readonly reasoning: ReasoningSpelling;
  readonly shortIds: boolean;
  readonly excludesReasoning: boolean;
  readonly statesCost: boolean;
}

export function chatForm(quirks: Partial<Quirks>, faults: readonly Fault[]): ChatForm {
  const forms = new Set(faults.flatMap((fault) => (fault.kind === 'form' ? [fault.is] : [])));
  return {
    has: (form) => forms.has(form),
    finish: faultOfKind(faults, 'finish')?.reason,
    reasoning: faultOfKind(faults, 'reasoning')?.as ?? spellingOf(quirks),
    shortIds: quirks.tool_ids === 'alnum9',
    excludesReasoning: quirks.usage_excludes_reasoning === true,
    statesCost: quirks.cost_in_usage === true,
  };
}

function spellingOf({ think_tags, reasoning_details, reasoning_field }: Partial<Quirks>): ReasoningSpelling {
  if (think_tags === true) return 'tags';
  return reasoning_details === true ? 'details' : (reasoning_field ?? 'reasoning_content');
}
