// The API page: Swagger UI on this store's description, with the digits of ids as they are, and usable without a mouse.

/** JSON laid out, every number with the digits that it came with. A text that is not JSON stays as it came. */
const layOut = (text) => {
  try {
    const exact = (_name, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value);
    return JSON.stringify(JSON.parse(text, exact), null, 2);
  } catch {
    return text;
  }
};

/** Swagger UI lays answers out with JSON.parse, which knows doubles only: 9223372036854775807 would end in 6000. */
const exactNumbers = ({ React, getComponent }) => ({
  wrapComponents: {
    responseBody: (Original) => (props) => {
      const { content, contentType } = props;
      if (typeof content !== 'string' || !/json/.test(contentType)) return React.createElement(Original, props);
      const code = React.createElement(
        getComponent('HighlightCode', true),
        { language: 'json', canCopy: true },
        layOut(content),
      );
      return React.createElement('div', null, React.createElement('h5', null, 'Response body'), code);
    },
  },
});

/** The name of an operation is a link inside of a button, which no keyboard can tell apart; the button does the same. */
const plainNames = ({ React }) => ({
  components: { DeepLink: ({ text }) => React.createElement('span', null, text) },
});

/** What Swagger UI leaves without a name that a screen reader could say, or calls by another than is seen. */
const names = {
  '.close-modal': 'Close',
  '.auth-btn-wrapper .authorize[type="submit"]': 'Authorize',
  '.auth-btn-wrapper button:not([type="submit"]):not(.btn-done)': 'Logout',
  '.auth-btn-wrapper .btn-done': 'Close',
  '#servers': 'Server',
  '.examples-select-element': 'Example',
  '.body-param__text': 'Request body',
};

const giveNames = () => {
  for (const [selector, name] of Object.entries(names)) {
    for (const element of document.querySelectorAll(selector)) {
      if (element.ariaLabel !== name) element.ariaLabel = name;
    }
  }
};

const followColorScheme = () => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', follow);
  follow();
};

followColorScheme();
new MutationObserver(giveNames).observe(document.querySelector('#api'), { childList: true, subtree: true });
SwaggerUIBundle({
  url: 'openapi.json',
  domNode: document.querySelector('#api'),
  plugins: [exactNumbers, plainNames],
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  syntaxHighlight: { theme: 'tomorrow-night' },
  // No other host is asked whether the description is valid.
  validatorUrl: null,
});
