/** Creates a plant with an id that doubles cannot hold, in three languages. Tests run these. */
export const snippets = {
  curl: `curl http://127.0.0.1:3000/plants \\
  -H "Authorization: Bearer $ACCESS_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{"id": 9223372036854775807, "name": "Ginkgo"}'`,

  JavaScript: `const id = 9223372036854775807n;
const response = await fetch('http://127.0.0.1:3000/plants', {
  method: 'POST',
  headers: { Authorization: \`Bearer \${process.env.ACCESS_TOKEN}\`, 'Content-Type': 'application/json' },
  body: JSON.stringify({ id: JSON.rawJSON(String(id)), name: 'Ginkgo' }),
});
// To read ids exactly, pass JSON.parse a function that makes them a BigInt.
const exact = (key, value, { source }) => (key === 'id' ? BigInt(source) : value);
console.log(response.status, JSON.parse(await response.text(), exact));`,

  Python: `import json, os, urllib.request

request = urllib.request.Request(
    "http://127.0.0.1:3000/plants",
    json.dumps({"id": 9223372036854775807, "name": "Ginkgo"}).encode(),
    {"Authorization": f"Bearer {os.environ['ACCESS_TOKEN']}", "Content-Type": "application/json"},
)
with urllib.request.urlopen(request) as response:
    print(response.status, json.load(response))`,
};
