// Each undocumented behaviour on which tick-object.ts relies: a test fails if an update changes it.
import assert from 'node:assert/strict';
import { executionAsyncResource } from 'node:async_hooks';
import { test } from 'node:test';

test('keepTickObject: inside a tick, the resource is the object that Node made for it', async () => {
  const ticked = await new Promise<{ resource: object; onTick: () => void }>((resolve) => {
    const onTick = (): void => resolve({ resource: executionAsyncResource(), onTick });
    process.nextTick(onTick);
  });
  assert.equal((ticked.resource as { readonly callback?: unknown }).callback, ticked.onTick);
});
