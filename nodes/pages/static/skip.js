// The link that skips to the content. The address is taken for other things: there it
// would be another page.

document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
});
