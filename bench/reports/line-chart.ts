import { rounded } from './format.ts';
import { CHART_WIDTH, svgDocument, svgText } from './svg.ts';

const TOP = 74;
const PANEL_HEIGHT = 150;
const PANEL_GAP = 46;
const LEFT = 70;
const RIGHT = 40;
const BOTTOM = 66;
const GRID_LINES = 4;
const MAX_MARKED_POINTS = 20;
const MAX_X_STEPS = 6;

type Point = { x: number; y: number };
type Panel = { title: string; points: Point[] };

type LineChart = { title: string; footer: string; formatX: (value: number) => string; panels: Panel[] };

/** Panels below each other on one x axis. Both axes start at zero, so that no slope looks steeper than it is. */
export const drawLineChart = ({ title, footer, formatX, panels }: LineChart): string => {
  const bottom = TOP + panels.length * (PANEL_HEIGHT + PANEL_GAP) - PANEL_GAP;
  const xs = panels[0]?.points.map(({ x }) => x) ?? [];
  const maxX = Math.max(...xs, 1);
  const step = roundUp(maxX / MAX_X_STEPS);
  const labels = Array.from({ length: Math.floor(maxX / step) + 1 }, (_, index) => index * step).map((x) =>
    svgText({ x: xAt(x, maxX), y: bottom + 20, text: formatX(x), style: 'quiet', anchor: 'middle' }),
  );
  return svgDocument({
    height: bottom + BOTTOM,
    title,
    description: panels.map((panel) => describe(panel, formatX)).join(' '),
    footer,
    content: [
      ...panels.flatMap((panel, index) => drawPanel(panel, TOP + index * (PANEL_HEIGHT + PANEL_GAP), maxX)),
      ...labels,
    ],
  });
};

const describe = ({ title, points }: Panel, formatX: (value: number) => string): string => {
  const every = Math.ceil(points.length / MAX_MARKED_POINTS);
  const shown = points.filter((_, index) => index % every === 0);
  return `${title}: ${shown.map(({ x, y }) => `${rounded(y)} at ${formatX(x)}`).join('; ')}.`;
};

const xAt = (x: number, maxX: number) => LEFT + (x / maxX) * (CHART_WIDTH - LEFT - RIGHT);

/** The next round number, for grid lines. */
const roundUp = (value: number): number => {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 1.5, 2, 2.5, 3, 4, 5].find((step) => step * power >= value) ?? 10);
};

const drawPanel = ({ title, points }: Panel, top: number, maxX: number): string[] => {
  const step = roundUp(Math.max(...points.map(({ y }) => y), Number.EPSILON) / GRID_LINES);
  const yAt = (y: number) => top + PANEL_HEIGHT * (1 - y / (step * GRID_LINES));
  const grid = Array.from({ length: GRID_LINES + 1 }, (_, line) => line * step).flatMap((value) => [
    `<path class="grid" d="M${LEFT} ${yAt(value).toFixed(1)}H${CHART_WIDTH - RIGHT}"/>`,
    svgText({ x: LEFT - 8, y: yAt(value) + 4, text: rounded(value), style: 'quiet', anchor: 'end' }),
  ]);
  const places = points.map(({ x, y }) => `${xAt(x, maxX).toFixed(1)},${yAt(y).toFixed(1)}`);
  const marks = places.length > MAX_MARKED_POINTS ? [] : places.map(drawMark);
  return [
    svgText({ x: 20, y: top - 10, text: title, style: 'quiet strong' }),
    ...grid,
    `<polyline class="line" points="${places.join(' ')}"/>`,
    ...marks,
  ];
};

const drawMark = (place: string): string => {
  const [x, y] = place.split(',');
  return `<circle class="store" cx="${x}" cy="${y}" r="3.5"/>`;
};
