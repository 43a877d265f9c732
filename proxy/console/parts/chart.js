// A chart of requests by hour. It is drawn on a canvas in the colours of the theme, and states its sum in words for people who do not see
// it.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { html } from '../base/html.js';

const HEIGHT = 160;

/**
 * The labels of the time axis by their distance: the hour, with the date below it at the start of a day, or only the date. @type
 * {uPlot.Axis.Values}
 */
const TIMES = [
  [86_400, '{D} {MMM}', null, null, null, null, null, null, 1],
  [3_600, '{HH}:00', '\n{D} {MMM}', null, '\n{D} {MMM}', null, null, null, 1],
];

/** @param {string} token */
const colour = (token) => {
  // A canvas does not take custom properties, so the browser resolves them on an element.
  const probe = document.createElement('span');
  probe.style.color = `var(${token})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
};

/** @param {{ label: string, times: readonly number[], requests: readonly number[], failed: readonly number[] }} props times: Unix seconds */
export function Chart({ label, times, requests, failed }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    const { current } = place;
    if (!current) return undefined;
    /** @type {uPlot | undefined} */
    let plot;
    const draw = () => {
      plot?.destroy();
      const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } };
      plot = new uPlot(
        {
          width: current.clientWidth,
          height: HEIGHT,
          legend: { show: false },
          cursor: { show: false },
          series: [
            {},
            { stroke: colour('--accent'), width: 1.5, points: { show: times.length < 30 } },
            { stroke: colour('--bad'), width: 1.5, points: { show: times.length < 30 } },
          ],
          axes: [
            { ...axis, values: TIMES },
            { ...axis, size: 48 },
          ],
          scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] } },
        },
        [[...times], [...requests], [...failed]],
        current,
      );
    };
    draw();
    const resized = new ResizeObserver(() => plot?.setSize({ width: current.clientWidth, height: HEIGHT }));
    resized.observe(current);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    return () => {
      dark.removeEventListener('change', draw);
      resized.disconnect();
      plot?.destroy();
    };
  }, [times, requests, failed]);
  return html`<div class="card"><div class="chart" ref=${place} role="img" aria-label=${label}></div></div>`;
}
