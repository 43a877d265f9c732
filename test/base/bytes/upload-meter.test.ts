// What uploads hold, now and at most.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UploadMeter } from '../../../proxy/base/bytes/upload-meter.ts';

test('an upload whose account reads nothing holds more than when it was last sampled: reading the meter samples it', () => {
  const meter = new UploadMeter();
  const upload = { heldBytes: 10 };
  meter.add(upload);
  meter.sample(upload.heldBytes);
  upload.heldBytes = 30;
  assert.deepEqual([meter.held, meter.most], [30, 30]);
  meter.remove(upload);
  assert.deepEqual([meter.held, meter.most], [0, 30]);
});
