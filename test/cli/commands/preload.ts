// Loads a module into the processes that a test starts, before the program.
import type { TestContext } from 'node:test';

export function preload(context: TestContext, module: string): void {
  const { NODE_OPTIONS } = process.env;
  process.env.NODE_OPTIONS = `--import=${module}`;
  context.after(() => {
    if (NODE_OPTIONS === undefined) delete process.env.NODE_OPTIONS;
    else process.env.NODE_OPTIONS = NODE_OPTIONS;
  });
}
