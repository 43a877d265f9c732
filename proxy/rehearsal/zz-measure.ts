import { startRehearsal } from './start.ts';
const t = performance.now();
const r = await startRehearsal([{id:'north',temperament:''},{id:'south',temperament:'flaky'}], { agent:'agent', meter:'meter', lite_marker:'x-l' });
console.log('started', (performance.now()-t).toFixed(0), 'since process start', performance.now().toFixed(0));
await r.close();
