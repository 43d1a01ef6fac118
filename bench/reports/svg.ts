/** What the charts share: a background, so that they are readable on light and dark pages. */

export const CHART_WIDTH = 760;

const STYLE = `
  svg { font: 14px system-ui, -apple-system, 'Segoe UI', sans-serif; }
  .card { fill: #ffffff; stroke: #d0d7de; }
  text { fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .quiet { fill: #59636e; font-size: 12px; }
  .bar { fill: #afb8c1; }
  .store { fill: #1a7f37; }
  .strong { font-weight: 600; }
  .grid { stroke: #d0d7de; }
  .line { fill: none; stroke: #1a7f37; stroke-width: 2; stroke-linejoin: round; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #3d444d; }
    text { fill: #f0f6fc; }
    .quiet { fill: #9198a1; }
    .bar { fill: #656c76; }
    .store { fill: #3fb950; }
    .grid { stroke: #3d444d; }
    .line { stroke: #3fb950; }
  }`;

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escapeXml = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? '');

type TextAt = { x: number; y: number; text: string; style?: string; anchor?: 'start' | 'middle' | 'end' };

export const svgText = ({ x, y, text, style = '', anchor = 'start' }: TextAt): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" class="${style}" text-anchor="${anchor}">${escapeXml(text)}</text>`;

/** `description` is for screen readers. */
type Document = { height: number; title: string; description: string; footer: string; content: string[] };

export const svgDocument = ({ height, title, description, footer, content }: Document): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${CHART_WIDTH} ${height}" width="${CHART_WIDTH}" ` +
      `height="${height}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escapeXml(title)}</title>`,
    `<desc id="description">${escapeXml(description)}</desc>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="card" x="0.5" y="0.5" width="${CHART_WIDTH - 1}" height="${height - 1}" rx="8"/>`,
    svgText({ x: 20, y: 32, text: title, style: 'title' }),
    ...content,
    svgText({ x: 20, y: height - 16, text: footer, style: 'quiet' }),
    '</svg>\n',
  ].join('\n');
