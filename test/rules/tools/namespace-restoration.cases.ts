// Custom tool calls as a provider answers them, and as a public client gets them.
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';

/** Tools of each kind: unique in a namespace, without a namespace, twice in the history, and a function of the same namespace. */
export const DECLARING: JsonObject = {
  model: 'model-a',
  input: [{ type: 'additional_tools', role: 'developer', tools: [{ type: 'custom', name: 'twice' }] }],
  tools: [
    { type: 'custom', name: 'flat' },
    {
      type: 'namespace',
      name: 'crm',
      tools: [
        { type: 'custom', name: 'note' },
        { type: 'custom', name: '__proto__' },
        { type: 'custom', name: 'twice' },
        { type: 'function', name: 'find' },
      ],
    },
  ],
};

export interface Restoration {
  readonly name: string;
  readonly item: Json;
  /** Undefined if the item stays unchanged. */
  readonly restored?: Json;
}

const call = (name: Json, members: JsonObject = {}): JsonObject => ({
  type: 'custom_tool_call',
  id: 'ctc_1',
  call_id: 'call_1',
  name,
  input: 'text',
  ...members,
});

export const RESTORATIONS: readonly Restoration[] = [
  { name: 'omitted', item: call('note'), restored: call('note', { namespace: 'crm' }) },
  { name: 'null', item: call('note', { namespace: null }), restored: call('note', { namespace: 'crm' }) },
  { name: 'a name that objects have', item: call('__proto__'), restored: call('__proto__', { namespace: 'crm' }) },
  { name: 'explicit', item: call('note', { namespace: 'other' }) },
  { name: 'explicitly empty', item: call('note', { namespace: '' }) },
  { name: 'flat', item: call('flat') },
  { name: 'unknown', item: call('nobody') },
  { name: 'not unique', item: call('twice') },
  { name: 'a custom call of a function name', item: call('find') },
  { name: 'a function call', item: { type: 'function_call', name: 'note', arguments: '{}' } },
  { name: 'no name', item: call(7) },
  { name: 'no item', item: null },
];
