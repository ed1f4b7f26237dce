package adkplugin_test

import (
	"fmt"

	"google.golang.org/adk/plugin"
	"google.golang.org/adk/runner"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/adkplugin"
	"github.com/obstat/obstat/dialect/adkfluent"
)

// One plugin at the runner covers the whole app.
func ExampleNew() {
	pol, err := adkfluent.DontAsk("read_file", "grep").Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	guard, err := adkplugin.New(adkplugin.Policy(pol, obstat.OS{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	config := runner.Config{AppName: "app", PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{guard}}}
	fmt.Println(config.PluginConfig.Plugins[0].Name())
	// Output: obstat
}
