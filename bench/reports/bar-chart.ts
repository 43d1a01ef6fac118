import { CHART_WIDTH, svgDocument, svgText } from './svg.ts';

const TOP = 52;
const ROW_HEIGHT = 34;
const BAR_HEIGHT = 20;
const LABEL_WIDTH = 260;
const VALUE_WIDTH = 90;
const BOTTOM = 40;

type Bar = { label: string; value: number; text: string; highlighted: boolean };

type BarChart = { title: string; footer: string; bars: Bar[] };

/** Horizontal bars that start at zero, in the given order. */
export const drawBarChart = ({ title, footer, bars }: BarChart): string => {
  const longest = Math.max(...bars.map(({ value }) => value), 1);
  const scale = (CHART_WIDTH - LABEL_WIDTH - VALUE_WIDTH) / longest;
  return svgDocument({
    height: TOP + bars.length * ROW_HEIGHT + BOTTOM,
    title,
    description: `${bars.map(({ label, text }) => `${label}: ${text}`).join('; ')}.`,
    footer,
    content: bars.flatMap((bar, index) => drawBar(bar, TOP + index * ROW_HEIGHT, scale)),
  });
};

const drawBar = ({ label, value, text, highlighted }: Bar, top: number, scale: number): string[] => {
  const width = Math.max(value * scale, 1);
  const baseline = top + BAR_HEIGHT / 2 + 5;
  const style = highlighted ? 'strong' : '';
  return [
    svgText({ x: LABEL_WIDTH - 10, y: baseline, text: label, style, anchor: 'end' }),
    `<rect class="${highlighted ? 'store' : 'bar'}" x="${LABEL_WIDTH}" y="${top}" width="${width.toFixed(1)}" ` +
      `height="${BAR_HEIGHT}" rx="3"/>`,
    svgText({ x: LABEL_WIDTH + width + 8, y: baseline, text, style }),
  ];
};
