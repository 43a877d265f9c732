// The decoding of replies of Responses accounts, by what was asked of them.

import { isApiAccount } from '../../turn/provider/api-account.ts';
import type { EventHandler } from '../../turn/provider/replies.ts';
import type { AttemptContext } from '../../turn/provider/requests.ts';
import type { Outgoing } from '../../turn/turn.ts';
import { CompactionAlone } from './compaction.ts';
import { ImageEvents } from './images.ts';
import { ReplyRepair } from './reply-repair.ts';
import { COMPACT } from './requests.ts';

/** Undefined for the kinds whose answers are no Responses events: they pass as they came. */
export function replyDecoding({ path }: Outgoing, { turn, account }: AttemptContext): readonly EventHandler[] | undefined {
  const repair = new ReplyRepair({ memory: turn.held, usage: (response) => response });
  switch (turn.route.kind) {
    case 'image':
    case 'public-file-create':
    case 'transcribe':
    case 'public-transcription':
      return undefined;
    case 'public-image':
    case 'public-image-edit':
      return isApiAccount(account) && account.serves.includes('images') ? [new ImageEvents()] : [repair];
    case 'compact':
    case 'public-compact':
      // The answer of the compact path is checked as it came (F3.7).
      return path === COMPACT ? undefined : [repair];
    default:
      return path === COMPACT ? [new CompactionAlone(), repair] : [repair];
  }
}
