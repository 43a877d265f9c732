import { simulate, tableOf } from './simulation/simulate.ts';
const opts = JSON.parse(process.argv[2] ?? '{}');
const t = performance.now();
console.log(tableOf(await simulate(opts)));
console.log(((performance.now()-t)/1000).toFixed(1)+' s');
