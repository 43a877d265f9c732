// The arithmetic of the advertised window.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ceilingsOf } from '../../proxy/models/catalog/ceilings.ts';
import { advertisedWindow } from '../../proxy/models/context-window.ts';
import type { JsonObject } from '../../proxy/turn/json/json.ts';
import type { ModelConfig } from '../../proxy/turn/settings.ts';

interface Case {
  readonly title: string;
  readonly entry: JsonObject;
  readonly config?: Omit<ModelConfig, 'suppressed'>;
  /** The expected window, maximum, percent, compactAt and effective values. */
  readonly gives: readonly (number | undefined)[];
}

const CASES: readonly Case[] = [
  { title: '[MC5] 272000 at 95', entry: { context_window: 272000 }, gives: [272000, 272000, 95, 244800, 258400] },
  { title: '[MC5] 872000 at 95', entry: { context_window: 872000 }, gives: [872000, 872000, 95, 784800, 828400] },
  {
    title: '[MC5] another percent, rounded down',
    entry: { context_window: 100001, effective_context_window_percent: 97 },
    gives: [100001, 100001, 97, 90000, 97000],
  },
  {
    title: '[MC4] an override sets window and maximum, upwards',
    entry: { context_window: 272000, max_context_window: 872000 },
    config: { context_window: 1000000 },
    gives: [1000000, 1000000, 95, 900000, 950000],
  },
  {
    title: '[MC4] an override sets window and maximum, downwards',
    entry: { context_window: 272000, max_context_window: 872000 },
    config: { context_window: 100000 },
    gives: [100000, 100000, 95, 90000, 95000],
  },
  {
    title: '[MC4] an override takes precedence over a bucket',
    entry: { context_window: 272000, max_context_window: 872000 },
    config: { context_window: 400000, pricing_bucket: 'long_context' },
    gives: [400000, 400000, 95, 360000, 380000],
  },
  {
    title: '[MC4] an override applies where the entry states nothing',
    entry: {},
    config: { context_window: 50 },
    gives: [50, 50, 95, 45, 47],
  },
  {
    title: '[MC4] long_context raises the window to the maximum',
    entry: { context_window: 272000, max_context_window: 872000 },
    config: { pricing_bucket: 'long_context' },
    gives: [872000, 872000, 95, 784800, 828400],
  },
  {
    title: '[MC4] long_context without a maximum leaves the window',
    entry: { context_window: 272000 },
    config: { pricing_bucket: 'long_context' },
    gives: [272000, 272000, 95, 244800, 258400],
  },
  {
    title: '[MC4] long_context never lowers',
    entry: { context_window: 272000, max_context_window: 100000 },
    config: { pricing_bucket: 'long_context' },
    gives: [272000, 100000, 95, 244800, 258400],
  },
  {
    title: '[MC4] short_context caps the window',
    entry: { context_window: 272000, max_context_window: 872000 },
    config: { pricing_bucket: 'short_context' },
    gives: [128000, 872000, 95, 115200, 121600],
  },
  {
    title: '[MC4] short_context never raises',
    entry: { context_window: 64000 },
    config: { pricing_bucket: 'short_context' },
    gives: [64000, 64000, 95, 57600, 60800],
  },
  {
    title: '[MC4] no bucket leaves the window',
    entry: { context_window: 272000, max_context_window: 872000 },
    gives: [272000, 872000, 95, 244800, 258400],
  },
  {
    title: 'a lower compaction limit stays',
    entry: { context_window: 20000, auto_compact_token_limit: 9000 },
    gives: [20000, 20000, 95, 9000, 19000],
  },
  {
    title: 'a higher one comes down',
    entry: { context_window: 20000, auto_compact_token_limit: 19000 },
    gives: [20000, 20000, 95, 18000, 19000],
  },
  { title: 'the cap rounds down', entry: { context_window: 99 }, gives: [99, 99, 95, 89, 94] },
  { title: 'a maximum alone is the window', entry: { max_context_window: 1000 }, gives: [1000, 1000, 95, 900, 950] },
  { title: 'nothing stated, nothing advertised', entry: {}, gives: [undefined, undefined, 95, undefined, undefined] },
  { title: 'a compaction limit alone stays', entry: { auto_compact_token_limit: 9 }, gives: [undefined, undefined, 95, 9, undefined] },
];

for (const { title, entry, config, gives } of CASES) {
  test(title, () => {
    const ceilings = ceilingsOf(entry);
    assert.ok(ceilings);
    const told = advertisedWindow(ceilings, config && { ...config, suppressed: false });
    assert.deepEqual([told.window, told.maximum, told.percent, told.compactAt, told.effective], gives);
  });
}
