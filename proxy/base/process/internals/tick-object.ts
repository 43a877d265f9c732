// Keeps V8 from dropping the hidden class of the objects that Node makes for each `process.nextTick`.
import { executionAsyncResource } from 'node:async_hooks';

/**
 * Keeps one object of the kind that Node creates for each `process.nextTick`, about twenty times per turn. If a full garbage collection
 * finds no such object, V8 drops their hidden class, and later creates them on a slow path, which costs 3 % of a turn.
 */
export function keepTickObject(): void {
  process.nextTick(() => {
    tickObjects.push(executionAsyncResource());
  });
}

const tickObjects: object[] = [];
