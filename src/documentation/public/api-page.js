// The API page: Swagger UI with exact ids and better accessibility.

/** Indents JSON. Every number keeps its digits. A text that is not JSON is not changed. */
const indent = (text) => {
  try {
    const exact = (_name, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value);
    return JSON.stringify(JSON.parse(text, exact), null, 2);
  } catch {
    return text;
  }
};

/** Swagger UI formats responses with JSON.parse, which rounds numbers: 9223372036854775807 would end in 6000. */
const exactNumbers = ({ React, getComponent }) => ({
  wrapComponents: {
    responseBody: (Original) => (props) => {
      const { content, contentType } = props;
      if (typeof content !== 'string' || !/[/+]json/.test(contentType)) return React.createElement(Original, props);
      const code = React.createElement(
        getComponent('HighlightCode', true),
        { language: 'json', canCopy: true },
        indent(content),
      );
      return React.createElement('div', null, React.createElement('h5', null, 'Response body'), code);
    },
  },
  // The input of an id in a list of them. Swagger UI has none for this type.
  components: { JsonSchema_integer_int64: (props) => React.createElement(getComponent('JsonSchema_string'), props) },
});

/** Swagger UI puts a link inside each operation's button. The link breaks keyboard use, and the button does the same. */
const plainNames = ({ React }) => ({
  components: { DeepLink: ({ text }) => React.createElement('span', null, text) },
});

/** Names for screen readers, where Swagger UI has none or one that differs from the visible text. */
const names = {
  '.close-modal': 'Close',
  '.auth-btn-wrapper .authorize[type="submit"]': 'Authorize',
  '.auth-btn-wrapper button:not([type="submit"]):not(.btn-done)': 'Logout',
  '.auth-btn-wrapper .btn-done': 'Close',
  '#servers': 'Server',
  '.examples-select-element': 'Example',
  '.body-param__text': 'Request body',
  '.opblock-section-request-body input[type="file"]': 'Request body',
};

/** The levels of headings, of which Swagger UI skips some. */
const levels = { 'h3.opblock-tag': 2, '.models h4': 2, '.opblock h4': 3, '.opblock h5': 4 };

const setNames = () => {
  for (const [selector, name] of Object.entries(names)) {
    for (const element of document.querySelectorAll(selector)) element.ariaLabel = name;
  }
  for (const [selector, level] of Object.entries(levels)) {
    for (const heading of document.querySelectorAll(selector)) heading.ariaLevel = level;
  }
  for (const select of document.querySelectorAll('[data-param-name] select')) {
    select.ariaLabel = select.closest('[data-param-name]').dataset.paramName;
  }
};

const followColorScheme = () => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', follow);
  follow();
};

followColorScheme();
new MutationObserver(setNames).observe(document.querySelector('#api'), { childList: true, subtree: true });
SwaggerUIBundle({
  url: 'openapi.json',
  domNode: document.querySelector('#api'),
  plugins: [exactNumbers, plainNames],
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  syntaxHighlight: { theme: 'tomorrow-night' },
  // Do not send the document to an online validator.
  validatorUrl: null,
});
